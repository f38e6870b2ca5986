#include <gtest/gtest.h>

#include "sampler/hmc.h"
#include "small_energies.h"

namespace selfnorm {
namespace {

// Between N(0, 4) and N(1, 1/4) in one dimension, l_beta is Gaussian with precision (1-beta)/4 + 4 beta and
// mean 4 beta / precision; draws of it stay draws of it.
TEST(HmcChains, LeavesTheMiddleOfThePathInvariant) {
  const SmallEnergy energy = quadratic({1}, {0.5});
  const SmallNormal q(1, 0, 2);
  const AnnealingPath path(energy, q);
  const double beta = 0.1, precision = 0.9 / 4 + 0.4, mean = 0.4 / precision;
  const uint64_t n = 20'000;
  std::vector<float> start(n);
  RandomStream random(2);
  for (float& x : start) x = static_cast<float>(mean + random.normal() / std::sqrt(precision));
  HmcChains chains(path, {start.data(), n, 1}, 6);
  const std::vector<double> scale = {2.5};
  double acceptance = 0;
  for (int t = 0; t < 5; ++t) acceptance = chains.transition(beta, {0.6, 3, scale});
  EXPECT_GT(acceptance, 0.3);
  EXPECT_LT(acceptance, 0.99);  // the test is one of acceptance, too
  double sum = 0, square = 0;
  for (uint64_t i = 0; i < n; ++i) {
    const double x = static_cast<double>(chains.points().row(i)[0]);
    sum += x / n;
    square += (x - mean) * (x - mean) / n;
  }
  EXPECT_NEAR(sum, mean, 4 / std::sqrt(precision * n));
  EXPECT_NEAR(square * precision, 1, 4 * std::sqrt(2.0 / n));
}

// What the chains know of their points is what the path says of them.
TEST(HmcChains, ValuesAreThoseOfThePoints) {
  const SmallEnergy energy = bumps(2, {{-1, 0}, {1, 0}});
  const SmallNormal q(2, 0, 2);
  const AnnealingPath path(energy, q);
  const std::vector<float> start(50 * 2);
  HmcChains chains(path, {start.data(), 50, 2}, 6);
  const std::vector<double> scale = {1, 1};
  for (int t = 0; t < 10; ++t) chains.transition(0.5, {1.2, 4, scale});
  PathValues values;
  path.evaluate_gradient(chains.points(), values);
  EXPECT_EQ(values.start, chains.values().start);
  EXPECT_EQ(values.weight, chains.values().weight);
  EXPECT_EQ(values.weight_gradient, chains.values().weight_gradient);
}

// A chain outside the support stays there.
TEST(HmcChains, DoNotMoveWhereThereIsNoDensity) {
  const SmallEnergy energy = quadratic({0}, {1}, 0, Support::box({0}, {1}));
  const AnnealingPath path(energy);
  const std::vector<float> start = {-1, 0.5f};
  HmcChains chains(path, {start.data(), 2, 1}, 6);
  const double scale = 1;
  for (int t = 0; t < 20; ++t) chains.transition(1, {0.3, 4, {&scale, 1}});
  EXPECT_EQ(chains.points().row(0)[0], -1);
  EXPECT_NE(chains.points().row(1)[0], 0.5f);
}

}  // namespace
}  // namespace selfnorm
