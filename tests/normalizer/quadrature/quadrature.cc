#include "normalizer/quadrature/quadrature.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "math/parallel.h"
#include "model/energy/exponential_family.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

using std::numbers::pi;

// Any function as an energy without parameters.
class FunctionEnergy final : public Energy {
 public:
  using Function = std::function<double(std::span<const float>)>;

  FunctionEnergy(uint32_t dimension, Function s, Support support = Support::reals())
      : dimension_(dimension), s_(std::move(s)), support_(std::move(support)) {}

  uint32_t dimension() const override { return dimension_; }
  Support support() const override { return support_; }
  std::span<float> parameters() override { return {}; }
  std::span<const float> parameters() const override { return {}; }
  std::unique_ptr<EnergyPass> make_pass() const override { return nullptr; }
  void score(const Points& x, std::span<double> s) const override {
    for (uint64_t i = 0; i < x.rows; ++i) s[i] = s_(x.row(i));
  }
  void score_gradient(const Points&, std::span<double>, std::span<float>) const override {}
  void directional(const Points&, const Points&, std::span<double>, std::span<double>) const override {}
  void directional_backward(const Points&, const Points&, std::span<const double>, std::span<const double>,
                            std::span<float>) const override {}
  EnergyRecord record() const override { return {}; }

 private:
  uint32_t dimension_;
  Function s_;
  Support support_;
};

// The truth is within the interval, the interval within the target.
void expect_log_z(const Energy& energy, double truth, const QuadratureOptions& options = {}) {
  const LogZEstimate z = quadrature_log_z(energy, options);
  EXPECT_EQ(z.method, "quadrature");
  EXPECT_LE(z.low, truth);
  EXPECT_GE(z.high, truth);
  EXPECT_NEAR(z.value, truth, options.precision);
  EXPECT_LE(z.high - z.low, 2.5 * options.precision);
  EXPECT_LE(z.evaluations, options.most_evaluations);
}

TEST(Quadrature, ClosedFormsOfFamilies) {
  struct Case {
    FamilyPlan plan;
    std::vector<double> eta;
  };
  for (const Case& c :
       std::vector<Case>{{{"gaussian", 1, {}, {}}, {3, -0.5}},
                         {{"gaussian", 1, {}, {}}, {0, -500}},
                         {{"gaussian", 1, {}, {}}, {0, -1e-4}},
                         {{"gaussian", 2, {}, {}}, {1, -1, -2, -1, 2.5}},
                         {{"gaussian", 3, {}, {}}, {1, 0, 0.5, -1, -0.5, -0.75, 0.5, 0.25, -0.5}},
                         {{"truncated-gaussian", 1, {-1}, {4}}, {2, -1}},
                         {{"truncated-gaussian", 2, {-1, -INFINITY}, {INFINITY, 1}}, {2, 0, -1, -1, 0}},
                         {{"exponential", 1, {}, {}}, {-0.25}},
                         {{"exponential", 2, {}, {}}, {-0.25, -3}},
                         {{"gamma", 1, {}, {}}, {2.5, -1}},
                         {{"gamma", 1, {}, {}}, {-0.5, -1}},
                         {{"von-mises", 1, {}, {}}, {20, -5}},
                         {{"von-mises", 2, {}, {}}, {3, 1, 0, -2}}}) {
    SCOPED_TRACE(c.plan.word + " " + std::to_string(c.plan.dimension));
    ExponentialFamily family(c.plan);
    family.set_eta(c.eta);
    expect_log_z(family, family.log_z(family.eta()).value());
    if (c.plan.dimension == 1) expect_log_z(family, family.log_z(family.eta()).value(), {.precision = 1e-5});
  }
}

// Mass far from where it is looked for, seen from afar.
TEST(Quadrature, GrowsUntilItHasTheMass) {
  ExponentialFamily far({"gaussian", 2, {}, {}});
  far.set_eta(std::vector<double>{60, 20, -0.5, -0.5, 0});
  expect_log_z(far, far.log_z(far.eta()).value());
  const ExponentialFamily normal({"gaussian", 2, {}, {}});
  expect_log_z(normal, std::log(2 * pi), {.centre = {50, -30}, .scale = {5, 5}});
  expect_log_z(normal, std::log(2 * pi), {.centre = {0, 0}, .scale = {0.1, 10}});
}

// Student t in d dimensions: tails that decay as a power.
TEST(Quadrature, HeavyTailsAreInTheInterval) {
  for (const double nu : {1.0, 3.0}) {
    const FunctionEnergy t(
        1, [nu](auto x) { return -(nu + 1) / 2 * std::log1p(static_cast<double>(x[0]) * x[0] / nu); });
    expect_log_z(t, std::lgamma(nu / 2) + std::log(nu * pi) / 2 - std::lgamma((nu + 1) / 2));
  }
  const FunctionEnergy t2(2, [](auto x) {
    return -2.5 * std::log1p((static_cast<double>(x[0]) * x[0] + static_cast<double>(x[1]) * x[1]) / 3);
  });
  expect_log_z(t2, std::log(2 * pi));  // nu = 3, d = 2
}

// exp(s) = 1 on the black squares of a board of 4 x 4 turned and shifted against the grid.
TEST(Quadrature, SharpCheckerboard) {
  const FunctionEnergy board(
      2,
      [](auto x) {
        const double u = (x[0] - 0.123) / 0.77, v = (x[1] + 0.311) / 0.77;
        if (std::abs(u) >= 2 || std::abs(v) >= 2) return -30.0;
        const int i = static_cast<int>(std::floor(u)), j = static_cast<int>(std::floor(v));
        return (i + j) % 2 == 0 ? 0.0 : -30.0;
      },
      Support::box({-6, -6}, {6, 6}));
  const double truth = std::log(8 * 0.77 * 0.77);
  expect_log_z(board, truth, {.centre = {0.1, 0.1}, .scale = {1, 1}, .precision = 5e-3});
  EXPECT_NEAR(quadrature_log_z(board, {.centre = {0.1, 0.1}, .scale = {1, 1}}).value, truth, 1e-3);
}

// Four circles of width 0.05: each 2 pi R sigma sqrt(2 pi), up to what the Gaussian leaves at the centre.
TEST(Quadrature, ThinCircles) {
  const double sigma = 0.05, radius = 0.6;
  const FunctionEnergy circles(2, [=](auto x) {
    LogSumExp sum;
    for (const double a : {-1.0, 1.0})
      for (const double b : {-1.0, 1.0}) {
        const double r = std::hypot(static_cast<double>(x[0]) - a, static_cast<double>(x[1]) - b);
        sum.add(-(r - radius) * (r - radius) / (2 * sigma * sigma));
      }
    return sum.value();
  });
  expect_log_z(circles, std::log(4 * 2 * pi * radius * sigma * std::sqrt(2 * pi)));
}

TEST(Quadrature, NoisyScoresAreNotChased) {
  const FunctionEnergy noisy(2, [](auto x) {
    const double r2 = static_cast<double>(x[0]) * x[0] + static_cast<double>(x[1]) * x[1];
    return -r2 / 2 + 1e-6 * std::sin(1e5 * static_cast<double>(x[0]));
  });
  expect_log_z(noisy, std::log(2 * pi), {.precision = 1e-4});
}

// Too few evaluations give a wide interval that still has the truth.
TEST(Quadrature, AnInterruptedOneIsHonest) {
  const FunctionEnergy peak(
      1, [](auto x) { return -std::abs(static_cast<double>(x[0]) - 0.3) * 300; }, Support::box({-10}, {10}));
  const LogZEstimate z = quadrature_log_z(peak, {.most_evaluations = 1500});
  EXPECT_LE(z.evaluations, 2000u);
  EXPECT_LE(z.low, std::log(2.0 / 300));
  EXPECT_GE(z.high, std::log(2.0 / 300));
  EXPECT_GT(z.high - z.low, 1e-3);
}

TEST(Quadrature, ScoresOfAnyLevel) {
  for (const double level : {-5000.0, 5000.0}) {
    const FunctionEnergy e(1, [=](auto x) { return level - static_cast<double>(x[0]) * x[0] / 2; });
    expect_log_z(e, level + std::log(2 * pi) / 2);
  }
}

TEST(Quadrature, BadInputs) {
  const auto constant = [](double s) { return [s](std::span<const float>) { return s; }; };
  EXPECT_THROW(quadrature_log_z(FunctionEnergy(1, constant(0)), {.most_evaluations = 50'000}),
               Error);  // no integral
  EXPECT_THROW(quadrature_log_z(FunctionEnergy(1, [](auto x) { return static_cast<double>(x[0]); }),
                                {.most_evaluations = 50'000}),
               Error);
  EXPECT_THROW(quadrature_log_z(FunctionEnergy(2, constant(NAN))), Error);
  EXPECT_THROW(quadrature_log_z(FunctionEnergy(1, constant(INFINITY))), Error);
  EXPECT_THROW(quadrature_log_z(FunctionEnergy(1, constant(-INFINITY), Support::box({0}, {1}))), Error);
  EXPECT_THROW(quadrature_log_z(FunctionEnergy(1, constant(-INFINITY))), Error);
  EXPECT_THROW(quadrature_log_z(FunctionEnergy(4, constant(0))), Error);
  EXPECT_THROW(quadrature_log_z(ExponentialFamily({"bernoulli", 2, {}, {}})), Error);
  const ExponentialFamily normal({"gaussian", 1, {}, {}});
  EXPECT_THROW(quadrature_log_z(normal, {.precision = 0}), Error);
  EXPECT_THROW(quadrature_log_z(normal, {.centre = {NAN}}), Error);
  EXPECT_THROW(quadrature_log_z(normal, {.centre = {0, 0}}), Error);
  EXPECT_THROW(quadrature_log_z(normal, {.scale = {0}}), Error);
}

TEST(Quadrature, BitsDoNotDependOnThreads) {
  const ExponentialFamily normal({"gaussian", 2, {}, {}});
  const auto run = [&](int threads) {
    const ThreadLimit limit(threads);
    const LogZEstimate z = quadrature_log_z(normal);
    return std::vector<double>{z.value, z.low, z.high};
  };
  EXPECT_EQ(run(1), run(4));
}

TEST(Quadrature, NodesIntegratePolynomials) {
  const QuadratureNodes nodes = quadrature_nodes(std::vector{0.0, -1.0}, std::vector{2.0, 1.0}, 3);
  double one = 0, moment = 0;
  for (size_t i = 0; i < nodes.log_weight.size(); ++i) {
    const double w = std::exp(nodes.log_weight[i]), x = nodes.x[2 * i], y = nodes.x[2 * i + 1];
    one += w;
    moment += w * x * x * x * y * y;
  }
  EXPECT_NEAR(one, 4, 1e-12);
  EXPECT_NEAR(moment, 4 * 2.0 / 3, 1e-6);
  EXPECT_THROW(quadrature_nodes(std::vector{1.0}, std::vector{1.0}, 3), Error);
}

}  // namespace
}  // namespace selfnorm
