#include "sampler/langevin.h"

#include <gtest/gtest.h>

#include <limits>

#include "math/parallel.h"
#include "sampler/chain_moments.h"
#include "small_energies.h"

namespace selfnorm {
namespace {

// On s = -x^2/2 a step is x <- (1 - h^2/2) x + h z, whose stationary variance is 1 / (1 - h^2/4).
TEST(Langevin, StationaryVarianceOfTheUnadjustedChain) {
  const SmallEnergy energy = quadratic({0}, {1});
  std::vector<float> chains(20'000);
  const LangevinResult result = langevin(energy, {40, 0.8}, 2, chains);
  double square = 0;
  for (const float x : chains) square += static_cast<double>(x) * static_cast<double>(x);
  EXPECT_NEAR(square / 20'000, 1 / (1 - 0.16), 0.04);
  EXPECT_EQ(result.acceptance, 1);
  EXPECT_EQ(result.evaluations, 800'000u);
}

TEST(Langevin, WallsReflect) {
  const SmallEnergy energy = quadratic({0, 0}, {1, 1}, 0, Support::box({0, -1}, {HUGE_VAL, 1}));
  std::vector<float> chains(2000, 0.5f);
  langevin(energy, {100, 0.5}, 2, chains);
  for (uint64_t i = 0; i < 1000; ++i)
    ASSERT_TRUE(contains(energy.support(), std::span<const float>(chains).subspan(2 * i, 2)));
}

TEST(Langevin, SlopesThatAreNotFiniteMoveNothing) {
  const SmallEnergy energy(1, Support::reals(), [](std::span<const float>, std::span<double> gradient) {
    if (!gradient.empty()) gradient[0] = std::numeric_limits<double>::quiet_NaN();
    return 0.0;
  });
  std::vector<float> chains = {1, 2};
  EXPECT_EQ(langevin(energy, {3, 0.1}, 1, chains).acceptance, 0);
  EXPECT_EQ(chains, (std::vector<float>{1, 2}));
}

TEST(Langevin, TheSameBitsForAnyNumberOfThreads) {
  const SmallEnergy energy = bumps(2, {{-1, 0}, {1, 0}});
  std::vector<float> one(400), two(400);
  {
    const ThreadLimit limit(1);
    langevin(energy, {10, 0.1}, 9, one);
  }
  const ThreadLimit limit(2);
  langevin(energy, {10, 0.1}, 9, two);
  EXPECT_EQ(one, two);
}

TEST(Langevin, ImpossibleInputs) {
  const SmallEnergy energy = quadratic({0}, {1});
  std::vector<float> chains(3);
  EXPECT_THROW(langevin(energy, {0, 0.1}, 1, chains), Error);
  EXPECT_THROW(langevin(energy, {1, 0}, 1, chains), Error);
  EXPECT_THROW(langevin(cycle(1, 2, 0, 0), {1, 0.1}, 1, chains), Error);
}

TEST(Mala, MomentsAndAcceptance) {
  const SmallEnergy energy = quadratic({1, -2}, {0.1, 3});
  const std::vector<float> start(64 * 2);
  const ChainDraws draws = mala(energy, {start.data(), 64, 2}, 100, MalaOptions{}, 4);
  EXPECT_NEAR(draws.acceptance, 0.574, 0.1);
  EXPECT_NEAR(mean_of(draws, 0), 1, 0.01);
  EXPECT_NEAR(mean_of(draws, 1), -2, 0.3);
  EXPECT_NEAR(deviation_of(draws, 0), 0.1, 0.005);
  EXPECT_NEAR(deviation_of(draws, 1), 3, 0.15);
}

}  // namespace
}  // namespace selfnorm
