
#include <gtest/gtest.h>

#include "model/multiclass.h"
#include "model/parameters.h"
#include "random_data.h"

namespace selfnorm {
namespace {

TEST(Scaling, ColumnsGetMeanZeroAndUnitVariance) {
  Dataset data = random_dataset({.rows = 50, .features = 3, .classes = 2}, 1);
  for (uint64_t i = 0; i < 50; ++i) {
    data.features.dense.values[i * 3] = 7;  // constant
    data.features.dense.values[i * 3 + 1] = 100 + 5 * data.features.dense.values[i * 3 + 1];
  }
  const Scaling scaling = fit_scaling(data.features.dense);
  scaling.apply(data.features.dense);
  for (const uint32_t j : {1u}) {
    double mean = 0, square = 0;
    for (uint64_t i = 0; i < 50; ++i) {
      const double v = data.features.dense.row(i)[j];
      mean += v / 50;
      square += v * v / 50;
    }
    EXPECT_NEAR(mean, 0, 1e-5);
    EXPECT_NEAR(square, 1, 1e-5);
  }
  for (uint64_t i = 0; i < 50; ++i) EXPECT_EQ(data.features.dense.row(i)[0], 0);
}

// Columns in very different units are each standardised by their own spread.
TEST(Scaling, UnitsDoNotMatter) {
  Dataset small = random_dataset({.rows = 100, .features = 2, .classes = 2}, 4);
  Dataset mixed = small;
  for (uint64_t i = 0; i < 100; ++i) mixed.features.dense.values[2 * i] *= 1e7f;
  fit_scaling(small.features.dense).apply(small.features.dense);
  fit_scaling(mixed.features.dense).apply(mixed.features.dense);
  for (size_t i = 0; i < 200; ++i)
    EXPECT_NEAR(small.features.dense.values[i], mixed.features.dense.values[i], 1e-4);
}

TEST(Scaling, FoldsIntoTheModelWithoutChangingScores) {
  const Dataset raw = random_dataset({.rows = 10, .features = 4, .classes = 3}, 2);
  Dataset scaled = raw;
  const Scaling scaling = fit_scaling(raw.features.dense);
  scaling.apply(scaled.features.dense);
  const auto theta = random_vector<double>(5 * 3, 3);
  ModelFile model;
  model.classes = 3;
  model.features = 4;
  store_parameters<double>(theta, scaling, model);
  const auto folded = parameters_of<double>(model);
  const Multiclass<double> before(scaled.features, 3, 4, {}), after(raw.features, 3, 4, {});
  for (uint64_t i = 0; i < 10; ++i) {
    for (uint32_t k = 0; k < 3; ++k) EXPECT_NEAR(before.score(theta, i, k), after.score(folded, i, k), 1e-5);
  }
}

}  // namespace
}  // namespace selfnorm
