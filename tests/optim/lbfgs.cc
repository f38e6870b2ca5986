#include "optim/lbfgs.h"

#include <gtest/gtest.h>
#include <lbfgs.h>

#include <cmath>

#include "normalizer/problem.h"
#include "objective/loss.h"
#include "objective/registry.h"
#include "random_data.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

using F = Lbfgs<double>::Function;

std::vector<double> minimise(const LbfgsOptions& options, const F& f, std::vector<double> x) {
  Lbfgs<double> lbfgs(options, f);
  lbfgs.start(std::move(x));
  for (int i = 0; i < 2000 && lbfgs.step(); ++i) {
  }
  EXPECT_FALSE(lbfgs.reason().empty());
  return lbfgs.state().x;
}

// Minimum 0 at (1, 1).
double rosenbrock(std::span<const double> x, std::span<double> g) {
  const double a = 1 - x[0], b = x[1] - x[0] * x[0];
  g[0] = -2 * a - 400 * x[0] * b;
  g[1] = 200 * b;
  return a * a + 100 * b * b;
}

TEST(Lbfgs, FindsTheMinimumOfRosenbrock) {
  const auto x = minimise({.tolerance = 1e-10}, rosenbrock, {-1.2, 1});
  EXPECT_NEAR(x[0], 1, 1e-6);
  EXPECT_NEAR(x[1], 1, 1e-6);
}

// A convex quadratic with eigenvalues over four decades, whose minimum is a.
TEST(Lbfgs, FindsTheMinimumOfAnIllConditionedQuadratic) {
  const auto a = random_vector<double>(50, 1);
  const auto x = minimise(
      {.tolerance = 1e-9},
      [&](std::span<const double> v, std::span<double> g) {
        double f = 0;
        for (size_t i = 0; i < 50; ++i) {
          const double c = std::pow(10, 4 * static_cast<double>(i) / 49);
          f += 0.5 * c * (v[i] - a[i]) * (v[i] - a[i]);
          g[i] = c * (v[i] - a[i]);
        }
        return f;
      },
      std::vector<double>(50));
  for (size_t i = 0; i < 50; ++i) EXPECT_NEAR(x[i], a[i], 1e-4);
}

// argmin 1/2 |x - a|^2 + l1 |x|_1 = soft(a, l1) on the penalised coordinates.
TEST(Lbfgs, OrthantWiseGivesTheSoftThreshold) {
  const std::vector<double> a{3, -2, 0.5, -0.4, 0.1, 0.7};
  const auto x = minimise(
      {.tolerance = 1e-10, .l1 = 1, .l1_count = 5},
      [&](std::span<const double> v, std::span<double> g) {
        double f = 0;
        for (size_t i = 0; i < 6; ++i) {
          g[i] = v[i] - a[i];
          f += 0.5 * g[i] * g[i];
        }
        return f;
      },
      std::vector<double>(6, 0.2));
  const std::vector<double> expected{2, -1, 0, 0, 0, 0.7};
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(x[i], expected[i], 1e-6) << i;
  for (size_t i = 2; i < 5; ++i) EXPECT_EQ(x[i], 0);
}

// A step from a stored state has the bits of a step from the live one.
TEST(Lbfgs, ContinuesFromAStoredStateWithTheSameBits) {
  Lbfgs<double> whole({.tolerance = 1e-12}, rosenbrock);
  whole.start({-1.2, 1});
  for (int i = 0; i < 7; ++i) whole.step();
  Lbfgs<double> resumed({.tolerance = 1e-12}, rosenbrock);
  resumed.restore(whole.state());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(whole.step(), resumed.step());
  EXPECT_EQ(whole.state().x, resumed.state().x);
  EXPECT_EQ(whole.state().iteration, resumed.state().iteration);
}

TEST(Lbfgs, RefusesBadOptions) {
  EXPECT_THROW(Lbfgs<double>({.history = 0}, rosenbrock), Error);
  EXPECT_THROW(Lbfgs<double>({.tolerance = 0}, rosenbrock), Error);
}

TEST(Lbfgs, SaysWhenTheLossIsNotFinite) {
  Lbfgs<double> lbfgs({}, [](std::span<const double>, std::span<double> g) {
    g[0] = 0;
    return std::nan("");
  });
  lbfgs.start({0});
  EXPECT_FALSE(lbfgs.step());
  EXPECT_NE(lbfgs.reason().find("not finite"), std::string::npos);
}

struct Regression {
  Dataset data = random_dataset({.rows = 200, .features = 6, .classes = 4}, 11);
  std::unique_ptr<ExactPass<double>> pass = make_exact_pass<double>(data, 6, 4, {});
  std::unique_ptr<Objective> objective = make_objective({.name = "exact"});

  double operator()(std::span<const double> x, std::span<double> g) const {
    std::fill(g.begin(), g.end(), 0);
    const LossSum sum = value_and_gradient<double>(*pass, *objective, {.gradient_scale = 1.0 / 200}, x, g);
    double l2 = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      l2 += 0.5e-2 * x[i] * x[i];
      g[i] += 1e-2 * x[i];
    }
    return sum.mean_loss() + l2;
  }
};

lbfgsfloatval_t peer_evaluate(void* instance, const lbfgsfloatval_t* x, lbfgsfloatval_t* g, int n,
                              lbfgsfloatval_t) {
  const auto size = static_cast<size_t>(n);
  return (*static_cast<const Regression*>(instance))({x, size}, {g, size});
}

// An independent program: liblbfgs on the same strictly convex problem ends at the same point.
TEST(Lbfgs, AgreesWithLiblbfgs) {
  Regression problem;
  const auto own = minimise(
      {.tolerance = 1e-9}, [&](auto x, auto g) { return problem(x, g); }, std::vector<double>(28));
  std::vector<double> peer(28);
  lbfgs_parameter_t parameters;
  lbfgs_parameter_init(&parameters);
  parameters.epsilon = 1e-10;
  lbfgsfloatval_t value = 0;
  lbfgs(28, peer.data(), &value, peer_evaluate, nullptr, &problem, &parameters);
  for (size_t i = 0; i < 28; ++i) EXPECT_NEAR(own[i], peer[i], 1e-5);
}

}  // namespace
}  // namespace selfnorm
