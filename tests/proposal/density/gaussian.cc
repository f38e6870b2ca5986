#include <numbers>

#include "proposal/density/density_checks.h"
#include "proposal/density/elliptical.h"
#include "proposal/density/make_density.h"
#include "random_data.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

using Shape = PrecisionRoot::Shape;

// Mean (0.5, -1), covariance ((4, 1.2), (1.2, 1)).
Gaussian correlated() {
  const std::vector<double> covariance{4, 1.2, 1.2, 1};
  return {{0.5, -1}, PrecisionRoot::of_covariance(2, covariance)};
}

TEST(Gaussian, DensityInClosedForm) {
  const Gaussian q = correlated();
  // Inverse ((1, -1.2), (-1.2, 4)) / 2.56 at the difference (1.5, 2).
  const double square = (1.5 * 1.5 - 2 * 1.2 * 1.5 * 2 + 4 * 4) / 2.56;
  EXPECT_NEAR(log_prob_at(q, {2, 1}), -std::log(2 * std::numbers::pi) - 0.5 * std::log(2.56) - 0.5 * square,
              1e-13);
  const Gaussian line({1}, {Shape::diagonal, 1, {0.5}});
  EXPECT_NEAR(log_prob_at(line, {3}), -0.5 * std::log(2 * std::numbers::pi) - std::log(2.0) - 0.5, 1e-14);
}

TEST(Gaussian, IntegratesToOne) {
  EXPECT_NEAR(grid_integral(correlated(), -16, 16, 256), 1, 1e-12);
  EXPECT_NEAR(grid_integral(Gaussian({1}, {Shape::full, 1, {0.5}}), -16, 16, 256), 1, 1e-12);
}

TEST(Gaussian, DrawsFollowTheMarginals) {
  const Gaussian q = correlated();
  EXPECT_LT(ks_distance(q, 0, 20000, [](double x) { return normal_cdf((x - 0.5) / 2); }), 1.95);
  EXPECT_LT(ks_distance(q, 1, 20000, [](double x) { return normal_cdf(x + 1); }), 1.95);
  EXPECT_GT(ks_distance(q, 1, 20000, [](double x) { return normal_cdf(x + 1.05); }), 1.95);
}

TEST(Gaussian, DrawsAreCorrelated) {
  std::vector<float> rows(40000);
  sample_density(correlated(), 5, rows, {});
  double product = 0;
  for (size_t i = 0; i < rows.size(); i += 2)
    product += (static_cast<double>(rows[i]) - 0.5) * (static_cast<double>(rows[i + 1]) + 1);
  EXPECT_NEAR(product / 20000, 1.2, 5 * std::sqrt((4 + 1.2 * 1.2) / 20000));
}

TEST(Gaussian, DerivativesInX) {
  expect_derivatives(correlated(), {1.5, -0.25}, {0.5, -1});
  expect_derivatives(Gaussian({0, 1, 2}, {Shape::diagonal, 3, {1, 2, 0.5}}), {1, 1.5, -1}, {1, 0.5, -0.25});
}

TEST(Gaussian, DerivativesInItsParameters) {
  Gaussian full = correlated();
  expect_parameter_gradient(full, random_vector<float>(20, 1));
  Gaussian diagonal({0, 1, 2}, {Shape::diagonal, 3, {1, 2, 0.5}});
  expect_parameter_gradient(diagonal, random_vector<float>(30, 2));
}

TEST(Gaussian, RoundTrip) {
  expect_round_trip(correlated());
  expect_round_trip(Gaussian({0, 1, 2}, {Shape::diagonal, 3, {1, 2, 0.5}}));
}

TEST(Gaussian, FitHasTheMomentsOfTheData) {
  const std::vector<float> rows{0, 0, 2, 0, 0, 4, 2, 6};
  const auto q = fit_gaussian({rows.data(), 4, 2}, Shape::full);
  EXPECT_EQ(q->mean(), (std::vector<double>{1, 2.5}));
  // Covariance ((1, .5), (.5, 6.75)): L = ((1, 0), (.5, sqrt(6.5))).
  EXPECT_NEAR(q->root().inverse()[0], 1, 1e-5);
  EXPECT_NEAR(q->root().inverse()[1], 0.5, 1e-5);
  EXPECT_NEAR(q->root().inverse()[2], std::sqrt(6.5), 1e-5);
  const auto diagonal = fit_gaussian({rows.data(), 4, 2}, Shape::diagonal);
  EXPECT_NEAR(diagonal->root().inverse()[1], std::sqrt(6.75), 1e-12);
}

// Width s: every coordinate of W is that of the fit over s, so log q at the mean falls by d log s.
TEST(Gaussian, ScaleWidensTheFit) {
  const std::vector<float> rows = {0, 0, 1, 3, 2, 1, 4, 2};
  const Points data{rows.data(), 4, 2};
  FitOptions wide;
  wide.scale = 3;
  const std::vector<float> mean = {1.75f, 1.5f};
  double narrow_log = 0, wide_log = 0;
  fit_density("gaussian", data)->log_prob({mean.data(), 1, 2}, {&narrow_log, 1});
  fit_density("gaussian", data, wide)->log_prob({mean.data(), 1, 2}, {&wide_log, 1});
  EXPECT_NEAR(narrow_log - wide_log, 2 * std::log(3), 1e-9);
}

TEST(Gaussian, DegenerateDataGetASmallScale) {
  const std::vector<float> one{3, 0, -1};
  const std::vector<float> twins{1, 1, 5, 2, 2, 5, 4, 4, 5, 3, 3, 5};  // collinear, and a constant column
  for (const Points& data : {Points{one.data(), 1, 3}, Points{twins.data(), 4, 3}}) {
    for (const Shape shape : {Shape::full, Shape::diagonal}) {
      const auto q = fit_gaussian(data, shape);
      EXPECT_TRUE(std::isfinite(log_prob_at(*q, {data.row(0).begin(), data.row(0).end()})));
      std::vector<double> log_q(1), gradient(3);
      const std::vector<float> far{1e30f, -1e30f, 1e20f};
      q->log_prob_gradient({far.data(), 1, 3}, log_q, gradient);
      EXPECT_TRUE(std::isfinite(log_q[0]));
      EXPECT_LT(log_q[0], -1e20);
      for (const double g : gradient) EXPECT_TRUE(std::isfinite(g));
    }
  }
}

TEST(Gaussian, BadDataAreUserErrors) {
  std::vector<float> rows{1, 2, std::nanf(""), 4};
  EXPECT_THROW(fit_gaussian({rows.data(), 2, 2}, Shape::full), Error);
  EXPECT_THROW(fit_gaussian({rows.data(), 0, 2}, Shape::full), Error);
  rows[2] = INFINITY;
  EXPECT_THROW(fit_gaussian({rows.data(), 2, 2}, Shape::diagonal), Error);
}

}  // namespace
}  // namespace selfnorm
