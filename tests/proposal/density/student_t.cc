#include <numbers>

#include "proposal/density/density_checks.h"
#include "proposal/density/elliptical.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

StudentT plane(double dof) {
  const std::vector<double> scatter{2, 0.5, 0.5, 1};
  return {dof, {1, -0.5}, PrecisionRoot::of_covariance(2, scatter)};
}

StudentT cauchy() { return {1, {2}, {PrecisionRoot::Shape::full, 1, {0.5}}}; }

TEST(StudentT, DensityInClosedForm) {
  // Cauchy: 1 / (pi s (1 + ((x - m) / s)^2)) with m = 2, s = 2.
  EXPECT_NEAR(log_prob_at(cauchy(), {6}), -std::log(2 * std::numbers::pi * 5), 1e-13);
  // d = 2, nu = 2: 1 / (2 pi sqrt(det) (1 + |z|^2 / 2)^2).
  EXPECT_NEAR(log_prob_at(plane(2), {1, -0.5}), -std::log(2 * std::numbers::pi * std::sqrt(1.75)), 1e-13);
}

TEST(StudentT, ManyDegreesOfFreedomAreAGaussian) {
  const StudentT q = plane(1e6);
  const Gaussian limit(q.location(), q.root());
  EXPECT_NEAR(log_prob_at(q, {2, 1}), log_prob_at(limit, {2, 1}), 1e-5);
}

TEST(StudentT, IntegratesToOne) {
  // The mass outside [-c, c] about the middle: 4 dof, c / s = 128 leaves less than 1e-7.
  EXPECT_NEAR(grid_integral(StudentT(4, {0}, {PrecisionRoot::Shape::full, 1, {1}}), -128, 128, 4096), 1,
              1e-6);
  EXPECT_NEAR(grid_integral(plane(8), -64, 64, 512), 1, 1e-6);
}

TEST(StudentT, DrawsFollowTheMarginals) {
  const auto cauchy_cdf = [](double x) { return 0.5 + std::atan((x - 2) / 2) / std::numbers::pi; };
  EXPECT_LT(ks_distance(cauchy(), 0, 20000, cauchy_cdf), 1.95);
  // nu = 4: F(t) = (2 + 3 u - u^3) / 4, u = t / sqrt(4 + t^2).
  const auto cdf = [](double x) {
    const double t = (x - 1) / std::sqrt(2.0), u = t / std::sqrt(4 + t * t);
    return (2 + 3 * u - u * u * u) / 4;
  };
  EXPECT_LT(ks_distance(plane(4), 0, 20000, cdf), 1.95);
  EXPECT_GT(ks_distance(plane(2), 0, 20000, cdf), 1.95);
}

TEST(StudentT, DerivativesInX) {
  for (const double dof : {1.0, 4.0, 50.0}) {
    expect_derivatives(plane(dof), {1.5, 0.25}, {0.5, -1});
    expect_derivatives(plane(dof), {-6, 5}, {1, 0.25});
  }
}

TEST(StudentT, RoundTrip) { expect_round_trip(plane(4)); }

TEST(StudentT, FitRecoversLocationAndScatter) {
  const StudentT q = plane(4);
  std::vector<float> rows(2 * 20000);
  sample_density(q, 31, rows, {});
  const auto fit = fit_student_t({rows.data(), 20000, 2}, 4);
  for (size_t j = 0; j < 2; ++j) EXPECT_NEAR(fit->location()[j], q.location()[j], 0.05);
  for (size_t p = 0; p < 3; ++p) EXPECT_NEAR(fit->root().inverse()[p], q.root().inverse()[p], 0.04);
}

TEST(StudentT, FarPointsAndDegenerateDataStayFinite) {
  const std::vector<float> rows{5, 5, 5, 5};
  const auto q = fit_student_t({rows.data(), 2, 2}, 4);
  std::vector<double> log_q(1), gradient(2);
  const std::vector<float> far{3e38f, -3e38f};
  q->log_prob_gradient({far.data(), 1, 2}, log_q, gradient);
  EXPECT_TRUE(std::isfinite(log_q[0]) && log_q[0] < -100);
  for (const double g : gradient) EXPECT_TRUE(std::isfinite(g));
}

TEST(StudentT, DrawsOfTheHeaviestTailAreFinite) {
  const StudentT q(0.1, {0}, {PrecisionRoot::Shape::full, 1, {1}});
  std::vector<float> rows(5000);
  std::vector<double> log_q(5000);
  sample_density(q, 1, rows, log_q);
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_TRUE(std::isfinite(rows[i]) && std::isfinite(log_q[i]));
}

TEST(StudentT, DegreesOfFreedomOutOfRange) {
  for (const double dof : {0.0, -1.0, std::nan("")}) EXPECT_THROW(plane(dof), Error);
}

}  // namespace
}  // namespace selfnorm
