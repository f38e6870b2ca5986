#include "sampler/hmc.h"

#include <gtest/gtest.h>

#include <limits>

#include "math/parallel.h"
#include "sampler/chain_moments.h"
#include "small_energies.h"

namespace selfnorm {
namespace {

TEST(Hmc, MomentsOfGaussiansWithDifferentScales) {
  for (const uint32_t d : {1u, 5u}) {
    std::vector<double> mean(d), sd(d);
    for (uint32_t j = 0; j < d; ++j) mean[j] = j, sd[j] = std::pow(10.0, j % 3) / 10;
    const SmallEnergy energy = quadratic(mean, sd);
    const std::vector<float> start(32 * d);
    const ChainDraws draws = hmc(energy, {start.data(), 32, d}, 400, HmcOptions{}, 3);
    EXPECT_EQ(draws.points().rows, 32u * 400);
    EXPECT_NEAR(draws.acceptance, 0.8, 0.12);
    for (uint32_t j = 0; j < d; ++j) {
      EXPECT_NEAR(mean_of(draws, j), mean[j], 0.06 * sd[j]) << j;
      EXPECT_NEAR(deviation_of(draws, j), sd[j], 0.06 * sd[j]) << j;
    }
  }
}

// P(x < 0) of a mixture whose parts overlap.
TEST(Hmc, SharesOfAMixture) {
  const SmallEnergy energy = bumps(1, {{-1.5, std::log(0.3)}, {1.5, std::log(0.7)}});
  const std::vector<float> start(64);
  const ChainDraws draws = hmc(energy, {start.data(), 64, 1}, 300, HmcOptions{}, 8);
  const auto below = [](double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; };
  double share = 0;
  for (const float x : draws.rows) share += x < 0;
  EXPECT_NEAR(share / static_cast<double>(draws.rows.size()), 0.3 * below(1.5) + 0.7 * below(-1.5), 0.02);
}

// Normal on [-0.5, 1] and on the half line: the walls reflect, the moments are those of the truncated law.
TEST(Hmc, StaysInsideABoxWithTheRightMoments) {
  const double infinity = std::numeric_limits<double>::infinity();
  const SmallEnergy energy = quadratic({0, 0}, {1, 1}, 0, Support::box({-0.5, 0}, {1, infinity}));
  const std::vector<float> start(32 * 2, 0.25f);
  const ChainDraws draws = hmc(energy, {start.data(), 32, 2}, 500, HmcOptions{}, 5);
  for (uint64_t i = 0; i < draws.points().rows; ++i)
    ASSERT_TRUE(contains(energy.support(), draws.points().row(i)));
  // (phi(-0.5) - phi(1)) / (Phi(1) - Phi(-0.5)) and sqrt(2 / pi)
  EXPECT_NEAR(mean_of(draws, 0), (0.3520653 - 0.2419707) / (0.8413447 - 0.3085375), 0.01);
  EXPECT_NEAR(mean_of(draws, 1), std::sqrt(2 / std::numbers::pi), 0.015);
}

TEST(Hmc, TheSameBitsForAnyNumberOfThreadsAndOtherBitsForAnotherSeed) {
  const SmallEnergy energy = bumps(3, {{-1, 0}, {1, 0}});
  const std::vector<float> start(100 * 3);
  const auto run = [&](int threads, uint64_t seed) {
    const ThreadLimit limit(threads);
    return hmc(energy, {start.data(), 100, 3}, 5, {20, 4, 0.1, 0.8, 2}, seed).rows;
  };
  EXPECT_EQ(run(1, 1), run(2, 1));
  EXPECT_EQ(run(1, 1), run(3, 1));
  EXPECT_NE(run(1, 1), run(1, 2));
}

// Slopes that grow without end throw trajectories out of the finite numbers; they are refused.
TEST(Hmc, DivergentTrajectoriesAreRefused) {
  const SmallEnergy energy(1, Support::reals(), [](std::span<const float> x, std::span<double> gradient) {
    const double v = static_cast<double>(x[0]);
    if (!gradient.empty()) gradient[0] = -6 * std::pow(v, 5);
    return -std::pow(v, 6);
  });
  const std::vector<float> start = {3, -3, 0, 1};
  const ChainDraws draws = hmc(energy, {start.data(), 4, 1}, 200, {0, 16, 5, 0.8, 1}, 1);
  for (const float x : draws.rows) ASSERT_TRUE(std::isfinite(x));
  EXPECT_LT(draws.acceptance, 0.5);
}

TEST(Hmc, ImpossibleInputs) {
  const SmallEnergy energy = quadratic({0}, {1}, 0, Support::box({0}, {1}));
  const std::vector<float> inside = {0.5f}, outside = {2};
  EXPECT_THROW(hmc(energy, {outside.data(), 1, 1}, 1, HmcOptions{}, 0), Error);
  EXPECT_THROW(hmc(energy, {inside.data(), 0, 1}, 1, HmcOptions{}, 0), Error);
  EXPECT_THROW(hmc(energy, {inside.data(), 1, 1}, 1, {10, 0, 0.1, 0.8, 1}, 0), Error);
  EXPECT_THROW(hmc(energy, {inside.data(), 1, 1}, 1, {10, 4, 0, 0.8, 1}, 0), Error);
  EXPECT_THROW(hmc(energy, {inside.data(), 1, 1}, 1, {10, 4, 0.1, 1, 1}, 0), Error);
  EXPECT_THROW(hmc(energy, {inside.data(), 1, 1}, 1, {10, 4, 0.1, 0.8, 0}, 0), Error);
  EXPECT_THROW(hmc(cycle(1, 2, 0, 0), {inside.data(), 1, 1}, 1, HmcOptions{}, 0), Error);
}

}  // namespace
}  // namespace selfnorm
