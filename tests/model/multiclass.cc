#include "model/multiclass.h"

#include <gtest/gtest.h>

#include <cmath>

#include "gradient_check.h"
#include "random_data.h"

namespace selfnorm {
namespace {

// s_k by its definition.
double score_by_hand(const Dataset& data, const std::vector<double>& theta, const std::vector<float>& carrier,
                     uint64_t row, uint32_t k) {
  const uint32_t classes = data.classes(), features = data.features.columns();
  double s = theta[features * classes + k] + (carrier.empty() ? 0 : static_cast<double>(carrier[k]));
  if (data.features.is_sparse) {
    const SparseMatrix& x = data.features.sparse;
    for (uint64_t p = x.begin[row]; p < x.begin[row + 1]; ++p) {
      s += static_cast<double>(x.value[p]) * theta[x.column[p] * classes + k];
    }
  } else {
    for (uint32_t j = 0; j < features; ++j)
      s += static_cast<double>(data.features.dense.row(row)[j]) * theta[j * classes + k];
  }
  return s;
}

TEST(Multiclass, ScoresAreTheDefinitionInTilesAndOneByOne) {
  const std::vector<float> carrier{0.5f, -1.0f, 0.0f, 2.0f};
  for (const bool sparse : {false, true}) {
    const Dataset data = random_dataset({.rows = 9, .features = 6, .classes = 4, .sparse = sparse}, 1);
    const Multiclass<double> model(data.features, 4, 6, carrier);
    const auto theta = random_vector<double>(model.parameters(), 2);
    std::vector<double> tile(5 * 3);
    model.scores(theta, {2, 7}, {1, 4}, tile.data());
    for (uint64_t i = 2; i < 7; ++i) {
      for (uint32_t k = 1; k < 4; ++k) {
        const double expected = score_by_hand(data, theta, carrier, i, k);
        EXPECT_NEAR(tile[(i - 2) * 3 + k - 1], expected, 1e-12);
        EXPECT_NEAR(model.score(theta, i, k), expected, 1e-12);
      }
    }
  }
}

// The derivative of sum_ik d_ik s_k(x_i) with respect to theta, both as tiles and one by one.
TEST(Multiclass, BackwardIsTheGradientOfScores) {
  for (const bool sparse : {false, true}) {
    const Dataset data = random_dataset({.rows = 6, .features = 3, .classes = 4, .sparse = sparse}, 3);
    const Multiclass<double> model(data.features, 4, 3, {});
    const auto theta = random_vector<double>(model.parameters(), 4);
    const auto d = random_vector<double>(6 * 4, 5);
    std::vector<double> by_tiles(model.gradient_size()), one_by_one(model.gradient_size());
    for (const Range tile : {Range{0, 3}, Range{3, 4}}) {
      std::vector<double> part;
      for (uint64_t i = 0; i < 6; ++i) {
        for (uint64_t k = tile.begin; k < tile.end; ++k) part.push_back(d[i * 4 + k]);
      }
      model.backward({0, 6}, tile, part.data(), by_tiles.data());
    }
    for (uint64_t i = 0; i < 6; ++i) {
      for (uint32_t k = 0; k < 4; ++k) model.backward(i, k, d[i * 4 + k], one_by_one.data());
    }
    const auto value = [&](const std::vector<double>& t) {
      double sum = 0;
      for (uint64_t i = 0; i < 6; ++i) {
        for (uint32_t k = 0; k < 4; ++k) sum += d[i * 4 + k] * score_by_hand(data, t, {}, i, k);
      }
      return sum;
    };
    expect_gradient(value, theta, by_tiles);
    expect_gradient(value, theta, one_by_one);
  }
}

TEST(Multiclass, StartsNormalised) {
  const std::vector<float> carrier{0.0f, 1.0f, -2.0f};
  for (const std::span<const float> h : {std::span<const float>(), std::span<const float>(carrier)}) {
    const auto theta = initial_parameters<double>(3, 2, h);
    double z = 0;
    for (uint32_t k = 0; k < 3; ++k)
      z += std::exp((h.empty() ? 0 : static_cast<double>(h[k])) + theta[2 * 3 + k]);
    EXPECT_NEAR(z, 1, 1e-12);
  }
}

}  // namespace
}  // namespace selfnorm
