#include "normalizer/sampling/resampling.h"

#include <gtest/gtest.h>

#include <set>

#include "math/parallel.h"
#include "normalizer/sampling/importance_log_z.h"
#include "small_energies.h"

namespace selfnorm {
namespace {

TEST(SystematicResampling, EveryIndexFloorOrCeilOfItsShareTimes) {
  const std::vector<double> share = {0.05, 0.6, 0, 0.15, 0.2};
  std::vector<double> log_weight;
  for (const double s : share) log_weight.push_back(std::log(s) - 900);
  for (uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<int> count(5);
    for (const uint64_t i : systematic_resampling(log_weight, 17, RandomStream(seed))) ++count[i];
    for (size_t i = 0; i < 5; ++i) EXPECT_LT(std::abs(count[i] - 17 * share[i]), 1) << i;
  }
}

TEST(SystematicResampling, NoPossibleDrawIsAnError) {
  EXPECT_THROW(systematic_resampling(std::vector<double>(3, -HUGE_VAL), 2, RandomStream(0)), Error);
}

TEST(Resample, MomentsOfAMixtureAndEssOfThePool) {
  const SmallEnergy energy = bumps(1, {{-2, std::log(0.25)}, {2, std::log(0.75)}});
  const Resampled out = resample(energy, SmallNormal(1, 0, 3), 20'000, 200'000, 4);
  double mean = 0, square = 0;
  for (const float x : out.rows) {
    mean += static_cast<double>(x) / 20'000;
    square += static_cast<double>(x) * static_cast<double>(x) / 20'000;
  }
  EXPECT_NEAR(mean, 1, 0.06);    // sd 2
  EXPECT_NEAR(square, 5, 0.15);  // sd of x^2 is 4.2
  EXPECT_EQ(out.pool, 200'000u);
  EXPECT_GT(out.pool_effective, 50'000);
  EXPECT_EQ(out.pool_tail,
            importance_log_z(energy, SmallNormal(1, 0, 3), 200'000, RandomStream(4, 0).next()).tail);
  EXPECT_LT(out.pool_effective, 200'000);
}

// A pool that is worth one draw: resampling repeats it, spreading does not; impossible draws stay out.
TEST(ResampleSpread, StartsDifferWhereWeightsDoNot) {
  const SmallEnergy far = quadratic({300}, {1}, 0, Support::box({0}, {HUGE_VAL}));
  const SmallNormal q(1, 0, 1);
  const Resampled same = resample(far, q, 50, 1000, 4), spread = resample_spread(far, q, 50, 1000, 4);
  EXPECT_LT(same.pool_effective, 3);
  EXPECT_EQ(spread.pool_effective, same.pool_effective);
  EXPECT_EQ(spread.pool_tail, same.pool_tail);
  EXPECT_LT(std::set(same.rows.begin(), same.rows.end()).size(), 5u);
  EXPECT_GT(std::set(spread.rows.begin(), spread.rows.end()).size(), 30u);
  for (const float x : spread.rows) EXPECT_GE(x, 0);
}

TEST(ResampleSpread, IsResamplingWhereThePoolIsGood) {
  const SmallEnergy energy = quadratic({0}, {1});
  const SmallNormal q(1, 0, 1.5);
  EXPECT_EQ(resample_spread(energy, q, 50, 5000, 4).rows, resample(energy, q, 50, 5000, 4).rows);
}

// Few possible draws, fewer than wanted: the search for beta ends at 0.
TEST(ResampleSpread, FewPossibleDraws) {
  const SmallEnergy energy = quadratic({0}, {1}, 0, Support::box({2.5}, {HUGE_VAL}));
  const Resampled out = resample_spread(energy, SmallNormal(1, 0, 1), 50, 1000, 4);
  for (const float x : out.rows) EXPECT_GE(x, 2.5f);
}

TEST(Resample, TheSameRowsForAnyNumberOfThreads) {
  const SmallEnergy energy = quadratic({0, 1}, {1, 1});
  const SmallNormal q(2, 0, 2);
  std::vector<float> one;
  {
    const ThreadLimit limit(1);
    one = resample(energy, q, 100, 40'000, 8).rows;
  }
  const ThreadLimit limit(2);
  EXPECT_EQ(resample(energy, q, 100, 40'000, 8).rows, one);
  EXPECT_NE(resample(energy, q, 100, 40'000, 9).rows, one);
}

TEST(Resample, ImpossibleInputs) {
  const SmallEnergy energy = quadratic({0}, {1});
  EXPECT_THROW(resample(energy, SmallNormal(1, 0, 1), 0, 10, 0), Error);
  EXPECT_THROW(resample(energy, SmallNormal(1, 0, 1), 10, 0, 0), Error);
}

}  // namespace
}  // namespace selfnorm
