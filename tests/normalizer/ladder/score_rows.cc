#include "normalizer/ladder/score_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <optional>

#include "normalizer/ladder/clustered_head.h"

namespace selfnorm {
namespace {

double mean_square_difference(const ModelFile& model, const Features& x, uint32_t k, uint32_t l) {
  const auto scores = make_class_scores(model, x.is_sparse);
  std::vector<float> s(x.rows() * model.classes);
  scores->tile(x, {0, x.rows()}, {0, model.classes}, s.data());
  double mean = 0, square = 0;
  const auto n = static_cast<double>(x.rows());
  for (uint64_t i = 0; i < x.rows(); ++i) {
    const double e =
        static_cast<double>(s[i * model.classes + k]) - static_cast<double>(s[i * model.classes + l]);
    mean += e / n;
    square += e * e / n;
  }
  return square - mean * mean;
}

double distance(const ScoreRows& rows, uint32_t k, uint32_t l) {
  std::vector<float> points(rows.classes() * rows.width());
  rows.points({0, rows.classes()}, points.data());
  double sum = 0;
  for (uint32_t i = 0; i < rows.width(); ++i)
    sum += std::pow(static_cast<double>(points[size_t{k} * rows.width() + i]) -
                        static_cast<double>(points[size_t{l} * rows.width() + i]),
                    2);
  return sum;
}

// Distances of the points are mean squares of differences of scores, in either metric.
TEST(ScoreRows, DistancesAreThoseOfScores) {
  const ModelFile model = random_head(7, 5, 1);
  const Features x = dense_inputs(200, 5, 2), sparse = as_sparse(x);
  const InputMetric metric = InputMetric::of(x.dense);
  const auto dense_scores = make_class_scores(model, false), sparse_scores = make_class_scores(model, true);
  const ScoreRows by_factor(model, *dense_scores, x, &metric),
      by_inputs(model, *sparse_scores, sparse, nullptr);
  for (uint32_t k = 1; k < 7; ++k) {
    const double expected = mean_square_difference(model, x, 0, k);
    EXPECT_NEAR(distance(by_factor, 0, k), expected, 1e-3 * expected);
    EXPECT_NEAR(distance(by_inputs, 0, k), expected, 1e-3 * expected);
  }
}

TEST(InputMetric, WhitenedInputsHaveTheIdentityForCovariance) {
  Features x = dense_inputs(500, 4, 3);
  for (uint64_t i = 0; i < 500; ++i)
    x.dense.values[i * 4] = 3 * x.dense.values[i * 4] + x.dense.values[i * 4 + 1] + 7;
  const std::vector<float> z = InputMetric::of(x.dense).whitened(x.dense);
  for (size_t a = 0; a < 4; ++a)
    for (size_t b = 0; b < 4; ++b) {
      double sum = 0;
      for (size_t i = 0; i < 500; ++i)
        sum += static_cast<double>(z[i * 4 + a]) * static_cast<double>(z[i * 4 + b]) / 500;
      EXPECT_NEAR(sum, a == b ? 1 : 0, 1e-3);
    }
}

}  // namespace
}  // namespace selfnorm
