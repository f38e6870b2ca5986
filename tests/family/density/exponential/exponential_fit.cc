#include "family/density/exponential/exponential_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "gradient_check.h"
#include "math/parallel.h"
#include "normalizer/point_enumeration.h"
#include "normalizer/quadrature/quadrature.h"
#include "random_data.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

using std::numbers::pi;

constexpr double kFitDigits = 1e-4;

struct FitProblem {
  FamilyPlan plan;
  std::vector<float> data;
  QuadratureNodes nodes;

  Points points() const { return {data.data(), data.size() / plan.dimension, plan.dimension}; }
  FitNodes fit_nodes() const {
    return {{nodes.x.data(), nodes.log_weight.size(), plan.dimension}, nodes.log_weight};
  }
};

std::vector<float> normals(size_t count, double mean, double deviation) {
  auto x = random_vector<float>(count, 11);
  for (float& v : x) v = static_cast<float>(mean + deviation * static_cast<double>(v));
  return x;
}

std::vector<float> absolute(std::vector<float> x) {
  for (float& v : x) v = std::abs(v) + 0.25f;
  return x;
}

QuadratureNodes line(double lower, double upper, uint32_t cells = 400) {
  return quadrature_nodes(std::vector{lower}, std::vector{upper}, cells);
}

// Every point of weight 1.
QuadratureNodes points_of(const Support& support) {
  QuadratureNodes out;
  const uint64_t points = countable_points(support);
  out.x.resize(points * support.levels.size());
  enumerate_points(support, 0, points, out.x);
  out.log_weight.assign(points, 0);
  return out;
}

std::vector<float> alternating_bits(uint32_t dimension, size_t rows) {
  RandomStream random(3);
  std::vector<float> out;
  for (size_t i = 0; i < rows; ++i) {
    float last = 0;  // neighbours agree more often than not
    for (uint32_t j = 0; j < dimension; ++j) {
      if (random.uniform() < 0.4) last = 1 - last;
      out.push_back(last);
    }
  }
  return out;
}

QuadratureNodes counts(uint32_t most) {
  QuadratureNodes out;
  for (uint32_t i = 0; i <= most; ++i) out.x.push_back(static_cast<float>(i)), out.log_weight.push_back(0);
  return out;
}

std::vector<FitProblem> problems() {
  auto angles = normals(200, 0.5, 0.8);
  for (float& a : angles) a = std::clamp(a, -3.0f, 3.0f);
  auto inside = normals(300, 0.3, 1);
  for (float& v : inside) v = std::clamp(v, -0.9f, 1.9f);
  auto plane = normals(400, 0, 1);
  for (size_t i = 0; i + 1 < plane.size(); i += 2)
    plane[i + 1] = 0.5f * plane[i + 1] + 0.6f * plane[i] + 0.4f;
  return {
      {{"gaussian", 1}, normals(200, 1.5, 0.7), line(-10, 12)},
      {{"gaussian", 2}, plane, quadrature_nodes(std::vector{-9.0, -9.0}, std::vector{9.0, 9.0}, 40)},
      {{"truncated-gaussian", 1, {-1}, {2}}, inside, line(-1, 2)},
      {{"exponential", 1}, absolute(normals(100, 0, 2)), line(0, 80)},
      {{"gamma", 1}, absolute(normals(100, 2, 1)), line(0, 60, 3000)},
      {{"von-mises", 1}, angles, line(-pi, pi)},
      {{"poisson", 1}, {0, 1, 4, 2, 2, 3, 7, 1}, counts(60)},
      {{"bernoulli", 4}, alternating_bits(4, 100), points_of(Support::binary(4))},
      {{"ising", 8}, alternating_bits(8, 1000), points_of(Support::binary(8))},
      {{"family:x,x2,x4", 1}, normals(200, 0.5, 1), line(-9, 9)},
      {{"family:abs,x", 1}, normals(200, 0.5, 1), line(-40, 40, 2000)},
  };
}

FamilyLikelihood likelihood_of(const ExponentialFamily& family, const FitProblem& p) {
  FamilyMean mean(family);
  mean.add(p.points());
  return {family, mean.means(), p.fit_nodes()};
}

ExponentialFit fit_family(const FitProblem& p, const ExponentialFitOptions& options = {}) {
  const ExponentialFamily family(p.plan);
  return fit_exponential(family, likelihood_of(family, p), options);
}

TEST(FamilyLikelihood, DerivativesAreThoseOfItsValue) {
  for (const FitProblem& p : problems()) {
    SCOPED_TRACE(p.plan.word);
    const ExponentialFamily family(p.plan);
    const FamilyLikelihood likelihood = likelihood_of(family, p);
    const size_t m = likelihood.count();
    std::vector<double> at = family.eta();
    at.push_back(likelihood.log_z(at) + 0.3);
    const auto d = likelihood.derivatives(std::span(at).first(m), at[m]);
    expect_gradient(
        [&](const std::vector<double>& x) { return likelihood.value(std::span(x).first(m), x[m]); }, at,
        d.gradient, 1e-5, 1e-5);
    for (size_t k = 0; k <= m; ++k)
      expect_gradient(
          [&](const std::vector<double>& x) {
            return likelihood.derivatives(std::span(x).first(m), x[m]).gradient[k];
          },
          at, {d.hessian.begin() + k * (m + 1), d.hessian.begin() + (k + 1) * (m + 1)}, 1e-5, 1e-4);
  }
}

// Jointly concave in (eta, b): second differences along random lines, far from the optimum too, and the
// quadratic form of the Hessian.
TEST(FamilyLikelihood, IsJointlyConcave) {
  for (const FitProblem& p : problems()) {
    SCOPED_TRACE(p.plan.word);
    const ExponentialFamily family(p.plan);
    const FamilyLikelihood likelihood = likelihood_of(family, p);
    const size_t m = likelihood.count();
    const double b = likelihood.log_z(family.eta());
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const auto from = random_vector<double>(m + 1, seed), along = random_vector<double>(m + 1, 100 + seed);
      const auto value = [&](double t) {
        std::vector<double> eta = family.eta();
        for (size_t k = 0; k < m; ++k) eta[k] += 0.02 * from[k] + t * along[k];
        return likelihood.value(eta, b + from[m] + t * along[m]);
      };
      const double step = 0.01, middle = value(0), ends = value(step) + value(-step);
      EXPECT_LE(ends - 2 * middle, 1e-10 * std::abs(middle));
      const auto d = likelihood.derivatives(family.eta(), b + from[m]);
      double form = 0;
      for (size_t k = 0; k <= m; ++k)
        for (size_t l = 0; l <= m; ++l) form += along[k] * d.hessian[k * (m + 1) + l] * along[l];
      EXPECT_LE(form, 0);
    }
  }
}

// The optimum is the maximum-likelihood estimate, E T = mean T, and b its log Z, by closed form, enumeration
// or quadrature.
TEST(ExponentialFit, OptimumIsTheMaximumOfLikelihoodAndLogZ) {
  for (const FitProblem& p : problems()) {
    SCOPED_TRACE(p.plan.word + " " + std::to_string(p.plan.dimension));
    ExponentialFamily family(p.plan);
    const ExponentialFit fit = fit_exponential(family, likelihood_of(family, p));
    ASSERT_TRUE(fit.is_converged) << fit.reason;
    family.set_eta(fit.eta);
    const FamilyLikelihood likelihood = likelihood_of(family, p);
    if (const auto mean = family.mean(fit.eta)) {
      EXPECT_NEAR(fit.b, *family.log_z(fit.eta), kFitDigits);
      for (size_t k = 0; k < family.count(); ++k)
        EXPECT_NEAR((*mean)[k], likelihood.mean()[k], kFitDigits * std::max(1.0, std::abs((*mean)[k])));
    } else if (p.plan.word == "ising") {
      EXPECT_NEAR(fit.b, enumerate_log_z(family).value, kFitDigits);
      const auto expected =
          enumerate_mean(family, family.count(), [&](auto x, auto t) { family.statistics(x, t); });
      for (size_t k = 0; k < family.count(); ++k) EXPECT_NEAR(expected[k], likelihood.mean()[k], kFitDigits);
    } else {
      EXPECT_NEAR(fit.b, quadrature_log_z(family, {.precision = 1e-6}).value, kFitDigits);
      // d log Z / d eta_k = mean T_k, by differences of quadratures.
      for (size_t k = 0; k < family.count(); ++k) {
        const auto log_z = [&](double by) {
          auto eta = fit.eta;
          eta[k] += by;
          family.set_eta(eta);
          return std::pair(quadrature_log_z(family, {.precision = 1e-7}).value, family.eta()[k]);
        };
        const auto [above, x1] = log_z(3e-4);
        const auto [below, x0] = log_z(-3e-4);
        EXPECT_NEAR((above - below) / (x1 - x0), likelihood.mean()[k], 1e-3);
      }
    }
  }
}

TEST(ExponentialFit, ClosedFormsOfTheEstimate) {
  const auto all = problems();
  const auto find = [&](const std::string& word) {
    return *std::find_if(all.begin(), all.end(), [&](const FitProblem& p) { return p.plan.word == word; });
  };
  const auto eta = [](const FitProblem& p) { return fit_family(p).eta; };
  const auto mean_of = [](const std::vector<float>& x) {
    return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
  };
  const FitProblem gaussian = find("gaussian");
  double mean = mean_of(gaussian.data), variance = 0;
  for (const float v : gaussian.data)
    variance += (v - mean) * (v - mean) / static_cast<double>(gaussian.data.size());
  EXPECT_NEAR(eta(gaussian)[0], mean / variance, kFitDigits);
  EXPECT_NEAR(eta(gaussian)[1], -0.5 / variance, kFitDigits);
  EXPECT_NEAR(eta(find("exponential"))[0], -1 / mean_of(find("exponential").data), kFitDigits);
  EXPECT_NEAR(eta(find("poisson"))[0], std::log(2.5), kFitDigits);
}

// Samples as nodes: b is the importance estimate of log Z at the estimate of eta.
TEST(ExponentialFit, SamplesServeAsNodes) {
  const size_t samples = 20000;
  FitProblem p{{"gaussian", 1}, normals(200, 0.5, 0.7), {}};
  p.nodes.x.resize(samples);
  RandomStream random(5);
  for (float& x : p.nodes.x) {
    x = static_cast<float>(2 * random.normal());
    p.nodes.log_weight.push_back(static_cast<double>(x) * x / 8 + std::log(2 * std::sqrt(2 * pi)) -
                                 std::log(static_cast<double>(samples)));
  }
  const ExponentialFamily family(p.plan);
  const ExponentialFit fit = fit_exponential(family, likelihood_of(family, p));
  ASSERT_TRUE(fit.is_converged) << fit.reason;
  EXPECT_NEAR(fit.b, *family.log_z(fit.eta), 0.05);
}

TEST(ExponentialFit, SaysWhenThereIsNoEstimate) {
  FitProblem p{{"bernoulli", 1}, {1, 1, 1}, points_of(Support::binary(1))};
  const ExponentialFit fit = fit_family(p, {.most_iterations = 10});
  EXPECT_FALSE(fit.is_converged);
  EXPECT_NE(fit.reason.find("10 iterations"), std::string::npos) << fit.reason;
  EXPECT_TRUE(std::isfinite(fit.b));
}

TEST(ExponentialFit, BitsDoNotDependOnThreads) {
  const FitProblem p = problems()[8];
  const ExponentialFamily family(p.plan);
  const auto run = [&](int threads) {
    const ThreadLimit limit(threads);
    return fit_exponential(family, likelihood_of(family, p)).eta;
  };
  EXPECT_EQ(run(1), run(4));
}

TEST(ExponentialFit, BadInputs) {
  FitProblem p{{"exponential", 1}, {1, 2}, line(0, 20)};
  const ExponentialFamily family(p.plan);
  const auto fit = [&](const ExponentialFitOptions& options = {}) {
    return fit_exponential(family, likelihood_of(family, p), options);
  };
  EXPECT_THROW(fit({.most_iterations = 0}), Error);
  EXPECT_THROW(fit({.tolerance = 0}), Error);
  p.data = {1, -2};
  EXPECT_THROW(fit(), Error);
  p.data = {1};
  p.nodes = {};
  EXPECT_THROW(fit(), Error);
  p.nodes = {{-1.0f}, {0.0}};
  EXPECT_THROW(fit(), Error);
}

}  // namespace
}  // namespace selfnorm
