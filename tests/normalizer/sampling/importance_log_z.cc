#include "normalizer/sampling/importance_log_z.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>

#include "math/parallel.h"
#include "model/energy/tilted.h"
#include "small_energies.h"

namespace selfnorm {
namespace {

TEST(WeightSum, EqualWeightsAreAllEffectiveAndHaveNoError) {
  WeightSum sum;
  for (int i = 0; i < 10; ++i) sum.add(-1000);
  EXPECT_DOUBLE_EQ(sum.log_mean(), -1000);
  EXPECT_NEAR(sum.effective(), 10, 1e-9);
  EXPECT_NEAR(sum.error(), 0, 1e-6);
}

// Weights 1 and 3: mean 2, ESS 16/10, relative error of the mean = sd / (mean sqrt n) = sqrt(2) / (2 sqrt 2).
TEST(WeightSum, TwoWeightsByHand) {
  WeightSum sum;
  sum.add(0);
  sum.add(std::log(3.0));
  EXPECT_NEAR(sum.log_mean(), std::log(2.0), 1e-14);
  EXPECT_NEAR(sum.effective(), 1.6, 1e-12);
  EXPECT_NEAR(sum.error(), 0.5, 1e-12);
}

// Effective() - 1 is less than 1, for which 1 is taken: Cauchy's distribution.
TEST(WeightSum, FewWeightsHaveTheIntervalOfStudentsT) {
  WeightSum sum;
  sum.add(0);
  sum.add(std::log(3.0));
  EXPECT_NEAR(sum.reach(), 12.7062047361747 * 0.5, 1e-10);
}

TEST(ImportanceLogZ, GaussiansInOneToTenDimensions) {
  for (const uint32_t d : {1u, 2u, 5u, 10u}) {
    const SmallEnergy energy = quadratic(std::vector<double>(d, 0.2), std::vector<double>(d, 0.9), 3);
    const double truth = 3 + d * log_normal_volume(0.9);
    const LogZEstimate z = importance_log_z(energy, SmallNormal(d, 0, 1.1), 50'000, 7);
    EXPECT_EQ(z.method, "importance");
    EXPECT_EQ(z.evaluations, 50'000u);
    EXPECT_NEAR(z.value, truth, 0.03) << d;
    EXPECT_LT(z.low, truth);
    EXPECT_GT(z.high, truth);
    EXPECT_GT(z.effective, 1000);
  }
}

// Hits of the 95% interval in 400 seeds: binomial(400, 0.95) is in [363, 396] with probability 0.9999.
TEST(ImportanceLogZ, IntervalsCoverAtTheirNominalRate) {
  const SmallEnergy energy = bumps(2, {{-1, 0}, {1.5, 0.5}});
  const double truth = std::log(1 + std::exp(0.5)) + 2 * log_normal_volume(1);
  const SmallNormal q(2, 0, 2);
  int hits = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const LogZEstimate z = importance_log_z(energy, q, 500, seed);
    hits += z.low <= truth && truth <= z.high;
  }
  EXPECT_GE(hits, 363);
  EXPECT_LE(hits, 396);
}

// Few effective samples: the interval is wide enough to be right far more often than log Z_hat -+ 1.96 error.
TEST(ImportanceLogZ, FewEffectiveSamplesMakeAWideInterval) {
  const SmallEnergy energy = quadratic({2.5}, {0.7});
  const SmallNormal q(1, 0, 1);
  int hits = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const LogZEstimate z = importance_log_z(energy, q, 200, seed);
    EXPECT_LT(z.effective, 40);
    hits += z.low <= log_normal_volume(0.7) && log_normal_volume(0.7) <= z.high;
  }
  EXPECT_GE(hits, 175);
}

// Tails of weights at the edge of what is trusted, k = 1 - 0.71^2 = 0.496: hits among the trusted intervals
// of 300 seeds; a binomial with 0.93 is above 0.88 with probability 0.998.
TEST(ImportanceLogZ, TrustedIntervalsCoverWithHeavyTails) {
  const SmallEnergy energy = quadratic({0, 0}, {1, 1});
  const SmallNormal q(2, 0, 0.71);
  int hits = 0, trusted = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const LogZEstimate z = importance_log_z(energy, q, 5000, seed);
    if (z.tail > kHeaviestTail || z.effective < 100) continue;
    ++trusted;
    hits += z.low <= 2 * log_normal_volume(1) && 2 * log_normal_volume(1) <= z.high;
  }
  EXPECT_GT(trusted, 50);
  EXPECT_GT(hits, 0.88 * trusted);
}

// The ESS does not show a missed mode, the tail of the weights does; a broad proposal has a light one.
TEST(ImportanceLogZ, AProposalThatMissesAModeHasAHeavyTail) {
  const SmallEnergy energy = bumps(1, {{0, 0}, {6, 0}});
  EXPECT_GT(importance_log_z(energy, SmallNormal(1, 0, 1), 20'000, 1).tail, kHeaviestTail);
  EXPECT_LT(importance_log_z(energy, SmallNormal(1, 3, 5), 20'000, 1).tail, kHeaviestTail);
}

TEST(ImportanceLogZ, TheSameBitsForAnyNumberOfThreads) {
  const SmallEnergy energy = quadratic({0, 1, 0}, {1, 1, 2});
  const SmallNormal q(3, 0, 2);
  double first = 0;
  for (const int threads : {1, 2, 3}) {
    const ThreadLimit limit(threads);
    const LogZEstimate z = importance_log_z(energy, q, 40'001, 5);
    if (threads == 1) first = z.value;
    EXPECT_EQ(z.value, first);
  }
}

// A density whose log_prob may not be called.
class UnaskedNormal final : public Density {
 public:
  uint32_t dimension() const override { return 2; }
  Support support() const override { return Support::reals(); }
  void sample(RandomStream& random, std::span<float> rows) const override { normal_.sample(random, rows); }
  void log_prob(const Points&, std::span<double>) const override { throw Bug("log q cancels"); }
  void log_prob_gradient(const Points&, std::span<double>, std::span<double>) const override {
    throw Bug("log q cancels");
  }
  void directional(const Points&, const Points&, std::span<double>, std::span<double>) const override {
    throw Bug("log q cancels");
  }
  DensityRecord record() const override { return {}; }

 private:
  SmallNormal normal_{2, 0, 1};
};

TEST(ImportanceLogZ, LogQCancelsWhenTheEnergyTiltsTheProposal) {
  const auto base = std::make_shared<UnaskedNormal>();
  // E exp(x_1 + x_2) = exp(1) for two standard normal numbers.
  auto linear =
      std::make_unique<SmallEnergy>(2, Support::reals(), [](std::span<const float> x, std::span<double>) {
        return static_cast<double>(x[0]) + static_cast<double>(x[1]);
      });
  const TiltedEnergy energy(std::move(linear), base);
  const LogZEstimate z = importance_log_z(energy, *base, 100'000, 3);
  EXPECT_NEAR(z.value, 1, 0.05);
  EXPECT_THROW(importance_log_z(energy, SmallNormal(2, 0, 1), 100, 3),
               Bug);  // another object: nothing cancels
}

// The normal distribution restricted to a box: draws outside it have weight 0.
TEST(ImportanceLogZ, ASupportSmallerThanThatOfTheProposal) {
  const SmallEnergy energy = quadratic({0}, {1}, 0, Support::box({0}, {HUGE_VAL}));
  EXPECT_NEAR(importance_log_z(energy, SmallNormal(1, 0, 1), 100'000, 2).value,
              log_normal_volume(1) - std::log(2.0), 0.02);
}

TEST(ImportanceLogZ, ImpossibleInputs) {
  const SmallEnergy energy = quadratic({0}, {1});
  EXPECT_THROW(importance_log_z(energy, SmallNormal(1, 0, 1), 1, 0), Error);
  EXPECT_THROW(importance_log_z(energy, SmallNormal(2, 0, 1), 100, 0), Error);
  EXPECT_THROW(importance_log_z(energy, SmallUniform(Support::box({-1}, {1})), 100, 0), Error);
  EXPECT_THROW(importance_log_z(energy, SmallUniform(Support::binary(1)), 100, 0), Error);
  for (const double score : {HUGE_VAL, -HUGE_VAL, std::numeric_limits<double>::quiet_NaN()}) {
    const SmallEnergy bad(1, Support::reals(),
                          [score](std::span<const float>, std::span<double>) { return score; });
    EXPECT_THROW(importance_log_z(bad, SmallNormal(1, 0, 1), 100, 0), Error);
  }
}

}  // namespace
}  // namespace selfnorm
