#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "math/random.h"
#include "normalizer/sampling/importance_log_z.h"

namespace selfnorm {
namespace {

// Quantiles of the generalised Pareto distribution, ((1 - u)^-k - 1) / k; the prior pulls towards 1/2.
TEST(ParetoShape, FindsTheShapeOfItsOwnDistribution) {
  for (const double k : {-0.3, 0.2, 0.5, 0.9, 1.5}) {
    std::vector<double> x;
    for (int i = 0; i < 1000; ++i) x.push_back((std::pow(1 - (i + 0.5) / 1000, -k) - 1) / k);
    EXPECT_NEAR(pareto_shape(x), (1000 * k + 5) / 1010, 0.05) << k;
  }
}

// Weights U^-k have the tail k, at any scale.
TEST(ParetoTail, PowersOfUniformNumbers) {
  for (const double k : {0.3, 1.0}) {
    RandomStream random(4);
    ParetoTail tail(20'000);
    for (int i = 0; i < 20'000; ++i) tail.add(-k * std::log(1 - random.uniform()) - 700);
    EXPECT_NEAR(tail.shape(), k, 0.2) << k;
  }
}

TEST(ParetoTail, EqualFewAndImpossibleWeightsHaveNone) {
  ParetoTail equal(100), few(3), impossible(100);
  for (int i = 0; i < 100; ++i) equal.add(5);
  for (int i = 0; i < 3; ++i) few.add(i);
  for (int i = 0; i < 100; ++i) impossible.add(-HUGE_VAL);
  EXPECT_EQ(equal.shape(), 0);
  EXPECT_EQ(few.shape(), 0);
  EXPECT_EQ(impossible.shape(), 0);
}

// Only the largest are kept, whatever the order they come in.
TEST(ParetoTail, TheOrderDoesNotMatter) {
  std::vector<double> log_weight;
  RandomStream random(4);
  for (int i = 0; i < 5000; ++i) log_weight.push_back(2 * random.normal());
  ParetoTail one(5000), two(5000);
  for (const double w : log_weight) one.add(w);
  std::sort(log_weight.begin(), log_weight.end());
  for (const double w : log_weight) two.add(w);
  EXPECT_EQ(one.shape(), two.shape());
  EXPECT_GT(one.shape(), 0.5);
}

}  // namespace
}  // namespace selfnorm
