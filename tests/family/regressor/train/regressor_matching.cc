#include <gtest/gtest.h>

#include <cmath>

#include "family/regressor/train/regressor_step_problem.h"
#include "math/parallel.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

TEST(RegressorMatching, GradientsAreThoseOfTheLoss) {
  for (const uint32_t d : {1u, 3u}) {
    for (const char* base : {"proposal", "broad"}) {
      for (const char* objective : {"sm", "dsm"}) {
        RegressorStepProblem problem(4, unbounded(d, 2), false);
        problem.options.base = base;
        problem.options.objective = objective;
        problem.options.noise = 0.3;
        const auto step = make_regressor_step(problem.parts());
        EXPECT_FALSE(step->uses_normalizer());
        EXPECT_LT(problem.gradient_error(*step), 2e-3) << objective << ' ' << base << ' ' << d;
      }
    }
  }
}

// s = log N(y; 0, c^2): the loss of sm is the mean of sum_j -1/c^2 + y_j^2 / (2 c^4).
TEST(RegressorMatching, LossOfANormalBase) {
  RegressorStepProblem problem(7, unbounded(2, 1, 2), true);
  problem.options.base = "broad";
  problem.options.objective = "sm";
  double expected = 0;
  for (const float y : problem.y)
    expected += (-1.0 / 4 + static_cast<double>(y) * static_cast<double>(y) / 32) / 7;
  const auto step = make_regressor_step(problem.parts());
  const auto result = problem(*step);
  EXPECT_NEAR(result.terms.loss, expected, 1e-6);
  EXPECT_TRUE(is_zero(result.mixture));
  EXPECT_TRUE(is_zero(result.b));
  EXPECT_FALSE(result.terms.has_estimate);
}

// y ~ N(0, 1): sm is at its optimum where the base is N(0, 1), dsm where it is N(0, 1 + sigma^2).
TEST(RegressorMatching, TheTruthIsTheOptimum) {
  const auto gradient = [](const char* objective, double scale) {
    RegressorStepProblem problem(20'000, unbounded(1, 1, scale), true);
    problem.options.base = "broad";
    problem.options.objective = objective;
    problem.options.noise = 0.75;
    return problem(*make_regressor_step(problem.parts())).tilt_norm();
  };
  EXPECT_LT(gradient("sm", 1), 0.1 * gradient("sm", 1.25));
  EXPECT_LT(gradient("dsm", 1.25), 0.1 * gradient("dsm", 1));
}

TEST(RegressorMatching, NoiseIsThatOfTheStepAndBitsDoNotDependOnThreads) {
  RegressorStepProblem problem(700, unbounded(2, 3), false);
  problem.options.objective = "dsm";
  const auto step = make_regressor_step(problem.parts());
  expect_bits_of_the_step(problem, *step);
}

TEST(RegressorMatching, RefusesBoundedSupports) {
  for (const char* objective : {"sm", "dsm"}) {
    RegressorStepProblem problem(2, bounded({0}, {HUGE_VAL}), true);
    problem.options.objective = objective;
    try {
      make_regressor_step(problem.parts());
      FAIL();
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("lower"), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find(objective), std::string::npos) << e.what();
    }
  }
}

}  // namespace
}  // namespace selfnorm
