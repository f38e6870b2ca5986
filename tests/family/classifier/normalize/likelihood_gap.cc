#include "family/classifier/normalize/likelihood_gap.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "data/toy/generate.h"
#include "normalizer/problem.h"
#include "objective/exact.h"
#include "objective/loss.h"
#include "random_data.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

struct WeightedRow {
  std::vector<float> x;
  uint32_t y;
  double weight;
};

Dataset weighted(const std::vector<WeightedRow>& rows, uint32_t classes) {
  Dataset data;
  data.features.is_sparse = false;
  data.features.dense.columns = static_cast<uint32_t>(rows[0].x.size());
  data.features.dense.rows = rows.size();
  for (const WeightedRow& row : rows) {
    data.features.dense.values.insert(data.features.dense.values.end(), row.x.begin(), row.x.end());
    data.target.push_back(row.y);
    data.weight.push_back(static_cast<float>(row.weight));
  }
  for (uint32_t k = 0; k < classes; ++k) data.labels.push_back(std::to_string(k));
  return data;
}

double log_sigmoid(double t) { return -std::log1p(std::exp(-t)); }

// Two classes on {0,1}^2 with log-odds b (x1 + x2 - 1). Only the contrast x1 XOR x2 of A is left by the free
// directions, A(00) + A(11) - A(01) - A(10) = 2 log cosh(b/2), so V* = (log cosh(b/2))^2 / 4 and the
// constraint is b <= 2 acosh(exp(2 delta)).
struct Square {
  static constexpr double kShare = 0.9375;  // of the likelier class at 00 and 11; exact in float

  Dataset data = weighted({{{0, 0}, 0, kShare},
                           {{0, 0}, 1, 1 - kShare},
                           {{1, 1}, 1, kShare},
                           {{1, 1}, 0, 1 - kShare},
                           {{0, 1}, 0, 0.5},
                           {{0, 1}, 1, 0.5},
                           {{1, 0}, 0, 0.5},
                           {{1, 0}, 1, 0.5}},
                          2);
  double b_hat = std::log(kShare / (1 - kShare));

  static double nll(double b) {
    return -0.5 * (kShare * log_sigmoid(b) + (1 - kShare) * log_sigmoid(-b) + std::log(0.5));
  }
  double gap(double delta) const {
    return nll(std::min(b_hat, 2 * std::acosh(std::exp(2 * delta)))) - nll(b_hat);
  }
};

TEST(LikelihoodGap, IsTheClosedFormOnTheSquare) {
  const Square square;
  const std::vector<double> deltas = {0.4, 0.02, 0.1, 0.2, 3};
  const LikelihoodGap found = likelihood_gap(square.data, {.deltas = deltas});
  EXPECT_NEAR(found.centre, std::log(2), 1e-12);
  EXPECT_NEAR(found.maximum.nll, Square::nll(square.b_hat), 1e-7);
  EXPECT_FALSE(found.separated);
  for (size_t i = 0; i < deltas.size(); ++i) {
    const ConstrainedOptimum& c = found.constrained[i];
    EXPECT_EQ(c.delta, deltas[i]);
    EXPECT_NEAR(c.gap, square.gap(deltas[i]), 1e-5) << deltas[i];
    EXPECT_LE(c.optimum.rms, deltas[i]);
    EXPECT_TRUE(c.optimum.converged);
    EXPECT_EQ(c.optimum.multiplier > 0, square.gap(deltas[i]) > 0) << deltas[i];
  }
}

// The optimum for a multiplier is the constrained one for delta = its rms.
TEST(LikelihoodGap, OfAMultiplierLiesOnTheSameCurve) {
  const Square square;
  const LikelihoodGap found = likelihood_gap(square.data, {.multipliers = {0.05, 10, 0.5}});
  EXPECT_LT(found.penalised[1].delta, found.penalised[2].delta);
  EXPECT_LT(found.penalised[2].delta, found.penalised[0].delta);
  for (const ConstrainedOptimum& c : found.penalised) {
    EXPECT_NEAR(c.gap, square.gap(c.delta), 1e-6) << c.delta;
    EXPECT_EQ(c.delta, c.optimum.rms);
  }
  EXPECT_EQ(found.penalised[1].optimum.multiplier, 10);
}

// KL from uniform is log K minus the mean entropy.
TEST(LikelihoodGap, KnowsTheDistanceFromUniform) {
  const Square square;
  const LikelihoodGap found = likelihood_gap(square.data, {.deltas = {}});
  const double q = Square::kShare;
  const double entropy = -0.5 * (q * std::log(q) + (1 - q) * std::log(1 - q)) + 0.5 * std::log(2);
  EXPECT_NEAR(found.maximum.kl_uniform, std::log(2) - entropy, 1e-6);
}

// One-hot inputs leave A free at every x: any conditional distribution is normalised at no cost.
TEST(LikelihoodGap, IsZeroForSaturatedModels) {
  const Dataset data = weighted({{{1, 0, 0}, 0, 3},
                                 {{1, 0, 0}, 1, 1},
                                 {{0, 1, 0}, 2, 2},
                                 {{0, 1, 0}, 1, 5},
                                 {{0, 0, 1}, 0, 1},
                                 {{0, 0, 1}, 2, 1}},
                                3);
  for (const auto& c : likelihood_gap(data, {.deltas = {0.01, 0.1, 1}}).constrained) {
    EXPECT_LT(c.gap, 2e-4) << c.delta;
    EXPECT_LE(c.optimum.rms, c.delta);
  }
}

// Joint data: T = (x1 y, x2 y) on X = {(1,0),(0,1),(1,1)}, two parameters, against a search over the plane.
TEST(LikelihoodGap, IsTheBestOfAFineGridForTwoParameters) {
  Dataset data;
  data.features.is_sparse = false;
  data.features.dense.columns = 2;
  data.group_begin = {0};
  const std::vector<std::pair<std::vector<float>, double>> inputs = {
      {{1, 0}, 0.9}, {{0, 1}, 0.3}, {{1, 1}, 0.7}};
  for (const auto& [x, share] : inputs) {
    for (const uint32_t y : {0u, 1u}) {
      for (const float sign : {-1.0f, 1.0f}) {
        for (const float v : x) data.features.dense.values.push_back(sign * v);
      }
      data.features.dense.rows += 2;
      data.group_begin.push_back(data.features.dense.rows);
      data.target.push_back(y);
      data.weight.push_back(static_cast<float>(y == 1 ? share : 1 - share));
    }
  }
  const auto pass = make_exact_pass<double>(data, 2, 0, {});
  const std::vector<double> deltas = {0.05, 0.15, 0.3};
  std::vector<double> best(deltas.size(), INFINITY);
  constexpr int kSteps = 600;
  for (int i = -kSteps; i <= kSteps; ++i) {
    for (int j = -kSteps; j <= kSteps; ++j) {
      const std::vector<double> theta = {2.0 * i / kSteps, 2.0 * j / kSteps};
      const LossSum sum = value_and_gradient<double>(
          *pass, Exact(), {.weight = data.weight, .centre = std::log(2)}, theta, std::span<double>());
      for (size_t k = 0; k < deltas.size(); ++k) {
        if (sum.rms_log_z() <= deltas[k]) best[k] = std::min(best[k], sum.mean_nll());
      }
    }
  }
  const LikelihoodGap found = likelihood_gap(data, {.deltas = deltas});
  EXPECT_NEAR(found.centre, std::log(2), 1e-12);
  for (size_t k = 0; k < deltas.size(); ++k) {
    EXPECT_NEAR(found.constrained[k].optimum.nll, best[k], 1e-3) << deltas[k];
    EXPECT_LT(found.constrained[k].optimum.nll, best[k] + 1e-5) << deltas[k];
  }
}

TEST(LikelihoodGap, OfSeparableDataApproachesTheSupremumAndSaysSo) {
  const Dataset data = weighted({{{0, 0}, 0, 1}, {{1, 1}, 1, 1}, {{0, 1}, 0, 1}, {{1, 0}, 0, 1}}, 2);
  const LikelihoodGap found = likelihood_gap(data, {.deltas = {0.1, 1}});
  EXPECT_TRUE(found.separated);
  EXPECT_TRUE(found.maximum.converged);
  EXPECT_LT(found.maximum.nll, 1e-4);
  EXPECT_GT(found.constrained[0].gap, found.constrained[1].gap);
  EXPECT_NEAR(found.constrained[0].optimum.rms, 0.1, 1e-3);
}

// A carrier moves m to log sum h; a constant factor of h changes nothing else.
TEST(LikelihoodGap, FollowsTheCarrier) {
  const Square square;
  const std::vector<float> carrier = {1.0f, 1.0f};
  const auto plain = likelihood_gap(square.data, {.deltas = {0.1}});
  const auto moved = likelihood_gap(square.data, {.deltas = {0.1}, .log_carrier = carrier});
  EXPECT_NEAR(moved.centre, 1 + std::log(2), 1e-9);
  EXPECT_NEAR(moved.constrained[0].gap, plain.constrained[0].gap, 1e-5);
}

// gap >= 0, falling in delta, 0 for a large delta, feasible, and never above the path bound (theory.md 2.2).
RC_GTEST_PROP(LikelihoodGap, FallsWithDeltaAndStaysBelowThePathBound, ()) {
  const auto seed = *rc::gen::inRange<uint64_t>(0, 1'000'000);
  const RandomShape shape{.rows = *rc::gen::inRange<uint64_t>(8, 40),
                          .features = *rc::gen::inRange<uint32_t>(1, 5),
                          .classes = *rc::gen::inRange<uint32_t>(2, 5),
                          .sparse = *rc::gen::arbitrary<bool>()};
  const Dataset data = random_dataset(shape, seed);
  const std::vector<double> deltas = {0.01, 0.1, 0.3, 1, 1e4};
  const LikelihoodGap found = likelihood_gap(data, {.deltas = deltas});
  const auto pass = make_exact_pass<double>(data, shape.features, shape.classes, {});
  double before = INFINITY;
  for (const ConstrainedOptimum& c : found.constrained) {
    RC_ASSERT(c.gap >= 0);
    RC_ASSERT(c.gap <= before + 1e-9);
    RC_ASSERT(c.optimum.rms <= c.delta);
    before = c.gap;
    for (const double t : {0.0, 0.1, 0.3, 0.6, 1.0}) {
      std::vector<double> theta = found.maximum.theta;
      for (double& v : theta) v *= t;
      const LossSum sum =
          value_and_gradient<double>(*pass, Exact(), {.centre = found.centre}, theta, std::span<double>());
      if (sum.rms_log_z() <= c.delta) RC_ASSERT(c.gap <= sum.mean_nll() - found.maximum.nll + 1e-9);
    }
  }
  if (found.maximum.rms < 1e4) RC_ASSERT(before < 1e-9);
}

std::vector<double> gaps_by_temperature(GenerateOptions options, const std::vector<double>& temperatures) {
  std::vector<double> gaps;
  for (const double tau : temperatures) {
    options.temperature = tau;
    gaps.push_back(likelihood_gap(generate(options).data, {.deltas = {1.0}}).constrained[0].gap);
  }
  return gaps;
}

// theory.md 2.4: a hump for sparse features in many dimensions, a monotone rise for few dense ones.
TEST(LikelihoodGap, HasTheReferenceShapesOverTemperature) {
  const auto hump = gaps_by_temperature(
      {.rows = 500, .features = 100, .classes = 5, .density = 0.05, .seed = 1}, {0.3, 1, 2, 8});
  EXPECT_LT(hump[0], 1e-3);
  EXPECT_GT(hump[1], 0.2);
  EXPECT_GT(hump[1], hump[2]);
  EXPECT_GT(hump[2], hump[3]);
  const auto rise = gaps_by_temperature(
      {.rows = 500, .features = 30, .classes = 5, .density = 0.1, .seed = 1}, {0.3, 1, 2, 4, 8});
  EXPECT_LT(rise[1], 1e-3);
  for (size_t i = 2; i < rise.size(); ++i) EXPECT_GT(rise[i], rise[i - 1]);
  EXPECT_NEAR(rise.back(), 0.245, 0.05);
}

TEST(LikelihoodGap, DoesNotDependOnTheNumberOfThreads) {
  const Dataset data = generate({.rows = 300, .features = 20, .classes = 4, .density = 0.2}).data;
  const auto one = likelihood_gap(data, {.deltas = {0.3}, .threads = 1});
  const auto two = likelihood_gap(data, {.deltas = {0.3}, .threads = 2});
  EXPECT_EQ(one.constrained[0].optimum.theta, two.constrained[0].optimum.theta);
  EXPECT_EQ(one.maximum.theta, two.maximum.theta);
}

TEST(LikelihoodGap, RefusesWhatItCannotUse) {
  const Square square;
  EXPECT_THROW(likelihood_gap(square.data, {.deltas = {0.0}}), Error);
  EXPECT_THROW(likelihood_gap(square.data, {.deltas = {NAN}}), Error);
  EXPECT_THROW(likelihood_gap(square.data, {.deltas = {1}, .log_carrier = {1.0f}}), Error);
  EXPECT_THROW(likelihood_gap(Dataset{}, {.deltas = {1}}), Error);
  Dataset unlabelled = square.data;
  unlabelled.target.own()[3] = Dataset::kNoTarget;
  EXPECT_THROW(likelihood_gap(unlabelled, {.deltas = {1}}), Error);
  Dataset weightless = square.data;
  for (float& w : weightless.weight) w = 0;
  EXPECT_THROW(likelihood_gap(weightless, {.deltas = {1}}), Error);
  // Groups of 1 to 5 alternatives: log Z = log size at theta = 0, which no constant is close to.
  EXPECT_THROW(likelihood_gap(random_groups(30, 1, 4), {.deltas = {1e-6}}), Error);
}

}  // namespace
}  // namespace selfnorm
