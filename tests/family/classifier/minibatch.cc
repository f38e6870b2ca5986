#include "family/classifier/minibatch.h"

#include <gtest/gtest.h>

#include <cmath>

#include "normalizer/problem.h"
#include "random_data.h"

namespace selfnorm {
namespace {

// A renumbered minibatch has the scores and, mapped back, the gradient of the same examples in the full
// numbering.
TEST(Minibatch, RenumberingChangesNothing) {
  const Dataset data =
      random_dataset({.rows = 30, .features = 50, .classes = 3, .sparse = true, .density = 0.1}, 1);
  const std::vector<uint64_t> rows{4, 17, 2, 29};
  MinibatchMaker maker(data);
  const Dataset plain = subset(data, rows);
  const auto theta = random_vector<double>(51 * 3, 2);
  const auto visit = [](uint64_t i, double, double) { return ScoreDerivatives{static_cast<double>(i), 0.5}; };
  std::vector<double> full(51 * 3);
  make_exact_pass<double>(plain, 50, 3, {})->run(theta, 4, visit, full);
  for (int repeat = 0; repeat < 2; ++repeat) {
    const Minibatch batch = maker.make(rows);
    EXPECT_LT(batch.map.feature.size(), 50u);
    const auto pass = make_exact_pass<double>(batch.data, 50, 3, {}, &batch.map);
    std::vector<double> compact(pass->gradient_size()), mapped(51 * 3);
    pass->run(theta, 4, visit, compact);
    for (size_t r = 0; r <= batch.map.feature.size(); ++r) {
      const size_t row = r == batch.map.feature.size() ? 50 : batch.map.feature[r];
      for (size_t k = 0; k < 3; ++k) mapped[row * 3 + k] = compact[r * 3 + k];
    }
    for (size_t i = 0; i < full.size(); ++i) EXPECT_NEAR(full[i], mapped[i], 1e-12);
  }
}

// Kept with probability 1 - p and divided by it; 5 standard deviations of 40000 draws, a fixed seed.
TEST(Minibatch, DroppedInputsKeepTheirExpectation) {
  for (const bool sparse : {false, true}) {
    for (const double share : {0.0, 0.3, 0.9}) {
      Dataset data =
          random_dataset({.rows = 40, .features = 1000, .classes = 2, .sparse = sparse, .density = 1}, 3);
      std::vector<float>& values = sparse ? data.features.sparse.value.own() : data.features.dense.values;
      values.assign(values.size(), 2);
      drop_inputs(share, RandomStream(7), data.features);
      double kept = 0;
      for (const float v : values) {
        EXPECT_TRUE(v == 0 || std::abs(static_cast<double>(v) - 2 / (1 - share)) < 1e-5);
        kept += v == 0 ? 0 : 1;
      }
      EXPECT_NEAR(kept / 40000, 1 - share, 5 * std::sqrt(share * (1 - share) / 40000));
    }
  }
}

TEST(Minibatch, RowNormIsTheFormula) {
  Features x;
  x.is_sparse = false;
  x.dense = {2, 2, {3, 4, 0, 1}};
  EXPECT_NEAR(row_norm(x), std::sqrt((25.0 + 1.0) / 2), 1e-12);
  x.dense.values.assign(4, 0);
  EXPECT_EQ(row_norm(x), 1);
}

TEST(Minibatch, TouchProbabilityIsTheFormula) {
  Dataset data = random_dataset({.rows = 40, .features = 6, .classes = 2, .sparse = true}, 3);
  std::vector<int> count(6);
  for (const uint32_t c : data.features.sparse.column) ++count[c];
  const auto p = touch_probability(data, 8);
  for (size_t j = 0; j < 6; ++j) EXPECT_NEAR(p[j], 1 - std::pow(1 - count[j] / 40.0, 8), 1e-12);
  EXPECT_TRUE(touch_probability(random_dataset({}, 1), 8).empty());
}

}  // namespace
}  // namespace selfnorm
