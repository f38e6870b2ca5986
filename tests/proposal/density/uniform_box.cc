#include "proposal/density/density_checks.h"
#include "proposal/density/products.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

TEST(UniformBox, DensityAndDerivatives) {
  const UniformBox q({-1, 2}, {3, 2.5});
  EXPECT_NEAR(log_prob_at(q, {0, 2.25}), -std::log(2.0), 1e-15);
  EXPECT_EQ(log_prob_at(q, {3, 2.5}), log_prob_at(q, {0, 2.25}));
  EXPECT_EQ(log_prob_at(q, {0, 1.999f}), -INFINITY);
  EXPECT_EQ(log_prob_at(q, {-1e30f, 2.25}), -INFINITY);
  EXPECT_NEAR(grid_integral(q, -4, 4, 64), 1, 1e-12);
  expect_derivatives(q, {0, 2.25}, {1, -1});
  EXPECT_EQ(q.support().lower, (std::vector<double>{-1, 2}));
}

TEST(UniformBox, DrawsFollowTheMarginals) {
  const UniformBox q({-1, 2}, {3, 2.5});
  EXPECT_LT(ks_distance(q, 0, 20000, [](double x) { return (x + 1) / 4; }), 1.95);
  EXPECT_LT(ks_distance(q, 1, 20000, [](double x) { return (x - 2) / 0.5; }), 1.95);
}

TEST(UniformBox, DrawsStayInsideWhereFloatsAreCoarse) {
  const UniformBox q({16777216}, {16777220});
  std::vector<float> rows(1000);
  std::vector<double> log_q(1000);
  sample_density(q, 1, rows, log_q);
  for (const double v : log_q) EXPECT_EQ(v, -std::log(4.0));
}

TEST(UniformBox, FitContainsTheDataWithAMargin) {
  const std::vector<float> rows{0, 7, 10, 7, 5, 7};
  const auto q = fit_uniform_box({rows.data(), 3, 2});
  EXPECT_NEAR(q->support().lower[0], -1, 1e-6);
  EXPECT_NEAR(q->support().upper[0], 11, 1e-6);
  EXPECT_NEAR(q->support().upper[1] - q->support().lower[1], 0.014, 1e-5);
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(contains(q->support(), Points{rows.data(), 3, 2}.row(i)));
  const std::vector<float> extreme{-3e38f, 3e38f};
  EXPECT_TRUE(std::isfinite(log_prob_at(*fit_uniform_box({extreme.data(), 2, 1}), {0})));
}

TEST(UniformBox, RoundTrip) { expect_round_trip(UniformBox({-1, 2}, {3, 2.5})); }

TEST(UniformBox, BadBoxesAreErrors) {
  EXPECT_THROW(UniformBox({0}, {0}), Error);
  EXPECT_THROW(UniformBox({1}, {0}), Error);
  EXPECT_THROW(UniformBox({0}, {INFINITY}), Error);
  EXPECT_THROW(UniformBox({0.1}, {1}), Error);  // 0.1 is no float32
}

}  // namespace
}  // namespace selfnorm
