#include "proposal/density/gaussian_mixture.h"

#include "math/parallel.h"
#include "proposal/density/density_checks.h"
#include "proposal/density/elliptical.h"
#include "random_data.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

// Three components in the plane, the last of them defensive when `defensive` > 0.
GaussianMixture triple(double defensive) {
  MixtureComponents c;
  c.logit = {0.5, -0.25};
  if (defensive == 0) c.logit.push_back(0.125);
  c.mean = {-2, 0, 1.5, 1, 0, 0};
  for (const std::vector<double>& s :
       {std::vector<double>{1, 0.3, 0.3, 0.5}, {0.25, -0.1, -0.1, 0.5}, {9, 2, 2, 4}})
    c.roots.push_back(PrecisionRoot::of_covariance(2, s));
  return {std::move(c), defensive};
}

TEST(GaussianMixture, IsTheSumOfItsGaussians) {
  for (const double defensive : {0.0, 0.1}) {
    const GaussianMixture q = triple(defensive);
    LogSumExp sum;
    double weights = 0;
    for (size_t k = 0; k < 3; ++k) {
      const std::vector<double>& m = q.components().mean;
      const Gaussian part({m[2 * k], m[2 * k + 1]}, q.components().roots[k]);
      sum.add(q.log_weight()[k] + log_prob_at(part, {0.5f, -0.75f}));
      weights += std::exp(q.log_weight()[k]);
    }
    EXPECT_NEAR(weights, 1, 1e-15);
    EXPECT_NEAR(log_prob_at(q, {0.5f, -0.75f}), sum.value(), 1e-14);
  }
  EXPECT_NEAR(triple(0.1).log_weight()[2], std::log(0.1), 1e-15);
}

TEST(GaussianMixture, IntegratesToOne) {
  EXPECT_NEAR(grid_integral(triple(0.1), -32, 32, 512), 1, 1e-9);
  MixtureComponents line{{0, 1}, {-1, 2}, {}};
  for (const double root : {2.0, 1.0})
    line.roots.emplace_back(PrecisionRoot::Shape::full, 1, std::vector{root});
  EXPECT_NEAR(grid_integral(GaussianMixture(line, 0), -16, 16, 1024), 1, 1e-12);
}

TEST(GaussianMixture, DrawsFollowTheMarginal) {
  const GaussianMixture q = triple(0.1);
  const auto cdf = [&](double x) {
    const double deviation[] = {1, 0.5, 3};
    double sum = 0;
    for (size_t k = 0; k < 3; ++k)
      sum += std::exp(q.log_weight()[k]) * normal_cdf((x - q.components().mean[2 * k]) / deviation[k]);
    return sum;
  };
  EXPECT_LT(ks_distance(q, 0, 30000, cdf), 1.95);
  EXPECT_GT(ks_distance(triple(0), 0, 30000, cdf), 1.95);
}

// Cells of the plane: chi-square with 16 degrees of freedom is above 39.3 in one case of 1,000.
TEST(GaussianMixture, DrawsFollowTheDensityInThePlane) {
  const GaussianMixture q = triple(0.1);
  constexpr size_t kDraws = 20000, kFine = 64;  // 4 x 4 cells of [-4, 4]^2, each integrated on a 16 x 16 grid
  std::vector<double> expected(17), seen(17);
  expected[16] = kDraws;
  for (size_t a = 0; a < kFine; ++a)
    for (size_t b = 0; b < kFine; ++b) {
      const float x = -4 + 0.125f * (static_cast<float>(a) + 0.5f),
                  y = -4 + 0.125f * (static_cast<float>(b) + 0.5f);
      const double mass = kDraws * std::exp(log_prob_at(q, {x, y})) * 0.125 * 0.125;
      expected[a / 16 * 4 + b / 16] += mass;
      expected[16] -= mass;
    }
  std::vector<float> rows(2 * kDraws);
  sample_density(q, 11, rows, {});
  for (size_t i = 0; i < rows.size(); i += 2) {
    const float a = std::floor((rows[i] + 4) / 2), b = std::floor((rows[i + 1] + 4) / 2);
    const bool is_inside = a >= 0 && a < 4 && b >= 0 && b < 4;
    seen[is_inside ? static_cast<size_t>(a) * 4 + static_cast<size_t>(b) : 16] += 1;
  }
  double chi_square = 0;
  for (size_t c = 0; c < 17; ++c)
    chi_square += (seen[c] - expected[c]) * (seen[c] - expected[c]) / expected[c];
  EXPECT_LT(chi_square, 39.3);
}

TEST(GaussianMixture, DerivativesInX) {
  for (const std::vector<float>& x : {std::vector<float>{0.5, -0.75}, {-2, 0.125}, {1.25, 1}, {5, -4}})
    expect_derivatives(triple(0.1), x, {0.5, -1}, 1e-3);
}

TEST(GaussianMixture, DerivativesInItsParameters) {
  for (const double defensive : {0.0, 0.1}) {
    GaussianMixture q = triple(defensive);
    expect_parameter_gradient(q, random_vector<float>(30, 4, 2));
  }
}

TEST(GaussianMixture, LearningLeavesTheDefensiveComponent) {
  GaussianMixture q = triple(0.1);
  std::vector<double> parameters = q.parameters();
  EXPECT_EQ(parameters.size(), 2u * (1 + 2 + 3));
  for (double& p : parameters) p += 0.5;
  q.set_parameters(parameters);
  EXPECT_EQ(q.log_weight()[2], std::log(0.1));
  EXPECT_EQ(q.components().mean[4], 0);
  for (size_t i = 0; i < parameters.size(); ++i) EXPECT_NEAR(q.parameters()[i], parameters[i], 1e-14);
}

TEST(GaussianMixture, FarPointsStayFinite) {
  const GaussianMixture q = triple(0);
  const std::vector<float> far{1e30f, -1e30f, 3e4f, 2e5f};
  std::vector<double> log_q(2), gradient(4), first(2), second(2);
  q.log_prob_gradient({far.data(), 2, 2}, log_q, gradient);
  const std::vector<float> v{1, 0, 0, 1};
  q.directional({far.data(), 2, 2}, {v.data(), 2, 2}, first, second);
  for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(std::isfinite(first[i]) && std::isfinite(second[i]));
  for (const double value : log_q) EXPECT_TRUE(std::isfinite(value) && value < -1e6);
  for (const double g : gradient) EXPECT_TRUE(std::isfinite(g));
}

TEST(GaussianMixture, RoundTrip) {
  expect_round_trip(triple(0.1));
  expect_round_trip(triple(0));
}

TEST(GaussianMixture, AnyNumberOfThreadsDrawsTheSame) {
  const GaussianMixture q = triple(0.1);
  std::vector<std::vector<float>> rows(3, std::vector<float>(2 * 1500));
  std::vector<std::vector<double>> log_q(3, std::vector<double>(1500));
  for (int threads = 1; threads <= 3; ++threads) {
    const ThreadLimit limit(threads);
    sample_density(q, 9, rows[threads - 1], log_q[threads - 1]);
  }
  EXPECT_EQ(rows[0], rows[1]);
  EXPECT_EQ(rows[0], rows[2]);
  EXPECT_EQ(log_q[0], log_q[1]);
  EXPECT_EQ(log_q[0], log_q[2]);
  std::vector<double> again(1500);
  density_log_prob(q, {rows[0].data(), 1500, 2}, again);
  EXPECT_EQ(again, log_q[0]);
}

TEST(GaussianMixture, TheFitHasItsDefensiveComponent) {
  const std::vector<float> rows = random_vector<float>(2000, 6);
  const auto q = fit_gaussian_mixture({rows.data(), 1000, 2}, 4, {.defensive = 0.2, .defensive_scale = 3});
  EXPECT_EQ(q->log_weight().size(), 5u);
  EXPECT_NEAR(std::exp(q->log_weight()[4]), 0.2, 1e-15);
  EXPECT_NEAR(q->components().roots[4].inverse()[0], 3, 0.15);
  EXPECT_EQ(fit_gaussian_mixture({rows.data(), 1000, 2}, 4, {.defensive = 0})->defensive(), 0);
  EXPECT_THROW(fit_gaussian_mixture({rows.data(), 1000, 2}, 4, {.defensive = 0.6}), Error);
  EXPECT_THROW(fit_gaussian_mixture({rows.data(), 1000, 2}, 4, {.defensive_scale = 0}), Error);
}

}  // namespace
}  // namespace selfnorm
