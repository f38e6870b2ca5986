#include <gtest/gtest.h>

#include <cmath>

#include "family/regressor/train/regressor_step_problem.h"
#include "math/parallel.h"

namespace selfnorm {
namespace {

// In one small step from a flat base the chains depend on the tilt by a part step / 2 of what the loss does.
TEST(RegressorChains, GradientsAreThoseOfTheLossWithTheChainsHeld) {
  for (const uint32_t d : {1u, 3u}) {
    RegressorStepProblem problem(6, unbounded(d, 1, 1000), false);
    problem.options.objective = "mcmc";
    problem.options.base = "broad";
    problem.options.langevin_steps = 1;
    problem.options.langevin_step = 0.01;
    const auto step = make_regressor_step(problem.parts());
    EXPECT_FALSE(step->uses_normalizer());
    EXPECT_LT(problem.gradient_error(*step, 0.05f), 0.03) << d;
  }
}

// y ~ N(0, 1): chains on N(0, 1) stay N(0, 1), on a wider base they move away from the data.
TEST(RegressorChains, TheTruthIsTheOptimum) {
  const auto gradient = [](double scale) {
    RegressorStepProblem problem(20'000, unbounded(1, 1, scale), true);
    problem.options.objective = "mcmc";
    problem.options.base = "broad";
    problem.options.langevin_steps = 10;
    problem.options.langevin_step = 0.2;
    return problem(*make_regressor_step(problem.parts())).tilt_norm();
  };
  EXPECT_LT(gradient(1), 0.1 * gradient(2));
}

TEST(RegressorChains, TheBaseIsAConstant) {
  RegressorStepProblem problem(30, unbounded(2, 3), false);
  problem.options.objective = "mcmc";
  const auto result = problem(*make_regressor_step(problem.parts()));
  EXPECT_TRUE(is_zero(result.mixture));
  EXPECT_TRUE(is_zero(result.b));
  EXPECT_FALSE(result.terms.has_estimate);
  EXPECT_GT(result.tilt_norm(), 0);
}

// Outside the support the base is -inf, and so would be the loss.
TEST(RegressorChains, WallsReflect) {
  RegressorStepProblem problem(200, bounded({0, -HUGE_VAL}, {0.5, 0}), false);
  problem.options.objective = "mcmc";
  for (size_t i = 0; i < problem.y.size(); ++i)
    problem.y[i] = i % 2 == 0 ? std::min(0.5f, std::abs(problem.y[i])) : -std::abs(problem.y[i]);
  problem.options.langevin_step = 0.7;
  const auto result = problem(*make_regressor_step(problem.parts()));
  EXPECT_TRUE(std::isfinite(result.terms.loss)) << result.terms.loss;
}

TEST(RegressorChains, NoiseIsThatOfTheStepAndBitsDoNotDependOnThreads) {
  RegressorStepProblem problem(700, unbounded(2, 3), false);
  problem.options.objective = "mcmc";
  const auto step = make_regressor_step(problem.parts());
  expect_bits_of_the_step(problem, *step);
}

}  // namespace
}  // namespace selfnorm
