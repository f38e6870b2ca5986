#include "normalizer/sampling/annealed_log_z.h"

#include <gtest/gtest.h>

#include <limits>

#include "math/parallel.h"
#include "model/energy/exponential_family.h"
#include "model/energy/tilted.h"
#include "normalizer/sampling/importance_log_z.h"
#include "small_energies.h"

namespace selfnorm {
namespace {

AnnealedOptions quick() {
  AnnealedOptions options;
  options.chains = 64;
  options.temperatures = 150;
  options.pilot_chains = 32;
  options.settling = 16;
  return options;
}

TEST(AnnealedLogZ, GaussiansInOneToTenDimensions) {
  for (const uint32_t d : {1u, 2u, 5u, 10u}) {
    const SmallEnergy energy = quadratic(std::vector<double>(d, 1), std::vector<double>(d, 0.3), -2);
    const double truth = -2 + d * log_normal_volume(0.3);
    const AnnealedLogZ z = annealed_log_z(energy, SmallNormal(d, 0, 2), quick(), 3);
    EXPECT_EQ(z.estimate.method, "annealed");
    EXPECT_NEAR(z.estimate.value, truth, 0.2) << d;
    EXPECT_LE(z.estimate.low, truth) << d;
    EXPECT_GE(z.estimate.high, truth) << d;
    EXPECT_LE(z.estimate.low, z.estimate.value);
    EXPECT_GE(z.estimate.high, z.estimate.value);
    EXPECT_GT(z.acceptance, 0.4);
  }
}

// Where importance sampling has a handful of effective samples, annealing has many.
TEST(AnnealedLogZ, KnowsMoreThanImportanceSamplingInTenDimensions) {
  const SmallEnergy energy = quadratic(std::vector<double>(10, 1), std::vector<double>(10, 0.3));
  const SmallNormal q(10, 0, 2);
  EXPECT_LT(importance_log_z(energy, q, 20'000, 1).effective, 10);
  AnnealedOptions options = quick();
  options.temperatures = 500;
  const AnnealedLogZ z = annealed_log_z(energy, q, options, 1);
  EXPECT_GT(z.estimate.effective, 20);
  EXPECT_LT(z.estimate.high - z.estimate.low, 2);
}

// Forward estimates are below the truth on average, reverse ones above, and the bracket holds the truth.
TEST(AnnealedLogZ, BracketsTheTruthOverSeeds) {
  const SmallEnergy energy = bumps(2, {{-2, 0}, {2, 0.5}});
  const double truth = std::log(1 + std::exp(0.5)) + 2 * log_normal_volume(1);
  const SmallNormal q(2, 0, 2);
  AnnealedOptions options = quick();
  options.temperatures = 12;
  int hits = 0;
  double forward = 0, reverse = 0, value = 0;
  const int seeds = 100;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    const AnnealedLogZ z = annealed_log_z(energy, q, options, seed);
    hits += z.estimate.low <= truth && truth <= z.estimate.high;
    forward += z.forward / seeds;
    reverse += z.reverse / seeds;
    value += z.estimate.value / seeds;
  }
  EXPECT_GE(hits, 90);
  EXPECT_LT(forward, truth + 0.02);
  EXPECT_GT(reverse, truth - 0.02);
  EXPECT_NEAR(value, truth, 0.03);
}

TEST(AnnealedLogZ, LevelsAgreeWithEnumeration) {
  const SmallEnergy energy = cycle(8, 3, -0.5, 0.4);
  LogSumExp truth;
  for_each_point(energy.support(), [&](std::span<const float> x) {
    double s = 0;
    energy.score({x.data(), 1, 8}, {&s, 1});
    truth.add(s);
  });
  const AnnealedLogZ z = annealed_log_z(energy, SmallUniform(energy.support()), quick(), 5);
  EXPECT_NEAR(z.estimate.value, truth.value(), 0.1);
  EXPECT_LE(z.estimate.low, truth.value());
  EXPECT_GE(z.estimate.high, truth.value());
}

TEST(AnnealedLogZ, ATiltedUniformBox) {
  const auto base = std::make_shared<SmallUniform>(Support::box({-1, -1}, {1, 3}));
  const TiltedEnergy energy(std::make_unique<SmallEnergy>(quadratic({0, 0}, {1, 1})), base);
  // log of int_-1^1 phi int_-1^3 phi, times 2 pi, over the volume 8.
  const double truth = std::log(0.6826895 * 0.8399948 * 2 * std::numbers::pi / 8);
  const AnnealedLogZ z = annealed_log_z(energy, *base, quick(), 5);
  EXPECT_NEAR(z.estimate.value, truth, 0.05);
}

ExponentialFamily family(const std::string& word, const std::vector<double>& eta, std::vector<double> lower,
                         std::vector<double> upper) {
  ExponentialFamily out({word, 1, std::move(lower), std::move(upper)});
  out.set_eta(eta);
  return out;
}

// Most draws of q have no density under the energy: both directions start or end at q restricted to it.
TEST(AnnealedLogZ, SupportsSmallerThanThatOfTheProposal) {
  const auto check = [](const ExponentialFamily& energy, const SmallNormal& q) {
    const double truth = *energy.log_z(energy.eta());
    const AnnealedLogZ z = annealed_log_z(energy, q, quick(), 3);
    EXPECT_NEAR(z.estimate.value, truth, 0.05);
    EXPECT_NEAR(z.forward, truth, 0.1);
    EXPECT_NEAR(z.reverse, truth, 0.1);
    EXPECT_LE(z.estimate.low, truth);
    EXPECT_GE(z.estimate.high, truth);
    EXPECT_GT(z.forward_error, 0.005);  // with that of log q(S)
  };
  check(family("truncated-gaussian", {0, -0.5}, {0}, {1}), SmallNormal(1, 0, 1));
  check(family("truncated-gaussian", {2, -0.5}, {-1}, {0.5}), SmallNormal(1, 1, 2));
  check(family("exponential", {-2}, {}, {}), SmallNormal(1, 0, 1));
  check(family("gamma", {1.5, -2}, {}, {}), SmallNormal(1, 0.5, 2));
}

// Hits of the bracket, a 95% interval or wider, in 60 seeds: 50 or fewer have probability 0.0003.
TEST(AnnealedLogZ, BracketsATruncatedGaussianOverSeeds) {
  const ExponentialFamily energy = family("truncated-gaussian", {0, -0.5}, {0}, {1});
  const double truth = std::log(0.3413447460685429) + log_normal_volume(1);
  AnnealedOptions options = quick();
  options.temperatures = 20;
  int hits = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const LogZEstimate z = annealed_log_z(energy, SmallNormal(1, 0, 1), options, seed).estimate;
    hits += z.low <= truth && truth <= z.high;
  }
  EXPECT_GT(hits, 50);
}

// q over three levels, the energy over the first two; scores of -inf inside the support.
TEST(AnnealedLogZ, FewerLevelsThanTheProposalAndImpossiblePoints) {
  const SmallEnergy spins = cycle(4, 2, 0.3, 0.2);
  const SmallUniform q(cycle(4, 3, 0, 0).support());
  const double truth = importance_log_z(spins, SmallUniform(spins.support()), 200'000, 1).value;
  EXPECT_NEAR(annealed_log_z(spins, q, quick(), 5).estimate.value, truth, 0.1);
  const SmallEnergy half(1, Support::reals(), [](std::span<const float> x, std::span<double> gradient) {
    const auto v = static_cast<double>(x[0]);
    if (!gradient.empty()) gradient[0] = -v;
    return v < 0 ? -HUGE_VAL : -v * v / 2;
  });
  const AnnealedLogZ z = annealed_log_z(half, SmallNormal(1, 0, 1), quick(), 5);
  EXPECT_NEAR(z.estimate.value, log_normal_volume(1) - std::log(2.0), 0.05);
  EXPECT_LT(z.estimate.high - z.estimate.low, 0.2);
}

// A narrow far mode that few chains find: the bracket is wide or few chains count.
TEST(AnnealedLogZ, AModeThatTheProposalMissesShows) {
  const SmallEnergy energy = bumps(4, {{0, 0}, {3, 3}});
  const AnnealedLogZ z = annealed_log_z(energy, SmallNormal(4, 0, 0.8), quick(), 5);
  EXPECT_TRUE(z.estimate.effective < 20 || z.estimate.high - z.estimate.low > 0.5)
      << z.estimate.effective << " " << z.estimate.low << " " << z.estimate.high;
}

TEST(AnnealedLogZ, TheSameBitsForAnyNumberOfThreads) {
  const SmallEnergy energy = bumps(2, {{-2, 0}, {2, 0.5}});
  const SmallNormal q(2, 0, 2);
  AnnealedOptions options = quick();
  options.temperatures = 5;
  double first = 0;
  for (const int threads : {1, 2, 3}) {
    const ThreadLimit limit(threads);
    const AnnealedLogZ z = annealed_log_z(energy, q, options, 5);
    if (threads == 1) first = z.estimate.value;
    EXPECT_EQ(z.estimate.value, first);
  }
}

// The energy is the proposal itself: all weights are 1.
TEST(AnnealedLogZ, NothingToAnneal) {
  const auto base = std::make_shared<SmallNormal>(2, 0, 1);
  const TiltedEnergy energy(
      std::make_unique<SmallEnergy>(2, Support::reals(),
                                    [](std::span<const float>, std::span<double> gradient) {
                                      std::fill(gradient.begin(), gradient.end(), 0.0);
                                      return 0.0;
                                    }),
      base);
  const AnnealedLogZ z = annealed_log_z(energy, *base, quick(), 5);
  EXPECT_NEAR(z.estimate.value, 0, 1e-12);
  EXPECT_NEAR(z.estimate.high - z.estimate.low, 0, 1e-6);
}

TEST(AnnealedLogZ, ImpossibleInputs) {
  const SmallEnergy energy = quadratic({0}, {1});
  const SmallNormal q(1, 0, 1);
  AnnealedOptions options = quick();
  options.chains = 1;
  EXPECT_THROW(annealed_log_z(energy, q, options, 0), Error);
  options = quick();
  options.acceptance = 0;
  EXPECT_THROW(annealed_log_z(energy, q, options, 0), Error);
  EXPECT_THROW(annealed_log_z(energy, SmallNormal(2, 0, 1), quick(), 0), Error);
  for (const double score : {-HUGE_VAL, std::numeric_limits<double>::quiet_NaN()}) {
    const SmallEnergy bad(1, Support::reals(),
                          [score](std::span<const float>, std::span<double>) { return score; });
    EXPECT_THROW(annealed_log_z(bad, q, quick(), 0), Error);
  }
  // Draws of q do not meet the +inf beyond 6, chains do.
  const SmallEnergy rising(1, Support::reals(), [](std::span<const float> x, std::span<double> gradient) {
    const auto v = static_cast<double>(x[0]);
    if (!gradient.empty()) gradient[0] = 6 - v;
    return v > 6 ? HUGE_VAL : -(v - 6) * (v - 6) / 2;
  });
  EXPECT_THROW(annealed_log_z(rising, q, quick(), 0), Error);
  EXPECT_THROW(annealed_log_z(quadratic({0}, {1}, 0, Support::box({7}, {8})), q, quick(), 0), Error);
}

}  // namespace
}  // namespace selfnorm
