#include "family/density/density_sample.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "math/parallel.h"
#include "small_models.h"

namespace selfnorm {
namespace {

struct Moments {
  double mean = 0, deviation = 0;
};
Moments moments(const DensitySample& sample, uint32_t d, uint32_t j) {
  const double n = static_cast<double>(sample.rows.size() / d);
  Moments out;
  double square = 0;
  for (size_t i = j; i < sample.rows.size(); i += d) {
    out.mean += static_cast<double>(sample.rows[i]) / n;
    square += static_cast<double>(sample.rows[i]) * static_cast<double>(sample.rows[i]) / n;
  }
  out.deviation = std::sqrt(square - out.mean * out.mean);
  return out;
}

// x = 100 + 7 u and x = -1 + 0.2 u' with u ~ N(0.5, 0.8^2), u' ~ N(-0.5, 1).
DensityModel normal_model() {
  DensityModel model =
      small_model(quadratic({0.5, -0.5}, {0.8, 1}), std::make_shared<SmallNormal>(2, 0, 1.5));
  model.standardisation = {{100, -1}, {7, 0.2}};
  return model;
}

TEST(DensitySample, EveryMethodHasTheMomentsInTheUnitsOfTheData) {
  const DensityModel model = normal_model();
  for (const char* method : {"auto", "sir", "langevin", "hmc"}) {
    const DensitySample sample = sample_density_model(model, {.method = method, .count = 4000, .seed = 3});
    ASSERT_EQ(sample.rows.size(), 8000u);
    const Moments first = moments(sample, 2, 0), second = moments(sample, 2, 1);
    EXPECT_NEAR(first.mean, 103.5, 0.6) << method;
    EXPECT_NEAR(first.deviation, 5.6, 0.4) << method;
    EXPECT_NEAR(second.mean, -1.1, 0.02) << method;
    EXPECT_NEAR(second.deviation, 0.2, 0.015) << method;
    EXPECT_GT(sample.pool_effective, 1000);
    const bool has_chains = sample.method == "langevin" || sample.method == "hmc";
    EXPECT_EQ(sample.r_hat.size(), has_chains ? 2u : 0u);
    for (const double r : sample.r_hat) EXPECT_LT(r, 1.05) << method;
    for (const double n : sample.effective) EXPECT_GT(n, 200) << method;
  }
  EXPECT_EQ(sample_density_model(model, {.count = 100}).method, "sir");
}

// Where the pool is worth less than is wanted, auto runs chains.
TEST(DensitySample, AutoRunsChainsWhereTheProposalIsPoor) {
  const DensityModel model = small_model(quadratic(std::vector<double>(6, 1), std::vector<double>(6, 0.3)),
                                         std::make_shared<SmallNormal>(6, 0, 1.5));
  const DensitySample sample = sample_density_model(model, {.count = 500});
  EXPECT_EQ(sample.method, "hmc");
  EXPECT_NEAR(moments(sample, 6, 2).mean, 1, 0.1);
  EXPECT_NEAR(moments(sample, 6, 2).deviation, 0.3, 0.05);
  EXPECT_GT(sample.acceptance, 0.5);
}

// The pool is worth more than is wanted, but its weights have a heavy tail, which evaluation does not trust.
TEST(DensitySample, AutoRunsChainsWhereTheWeightsHaveAHeavyTail) {
  const DensityModel model =
      small_model(quadratic({0, 0, 0, 0}, {1, 1, 1, 1}), std::make_shared<SmallNormal>(4, 0, 0.52));
  const DensitySample by_pool = sample_density_model(model, {.method = "sir", .count = 50});
  EXPECT_GT(by_pool.pool_effective, 100);
  EXPECT_GT(by_pool.pool_tail, 0.5);
  const DensitySample sample = sample_density_model(model, {.count = 50});
  EXPECT_EQ(sample.method, "hmc");
  EXPECT_GT(sample.pool_tail, 0.5);
  for (const double n : sample.effective) EXPECT_LE(n, 50);
}

// Modes 24 standard deviations apart, which no chain leaves: the points come from all chains, whatever their
// number.
TEST(DensitySample, PointsComeFromAllChains) {
  const DensityModel model =
      small_model(bumps(1, {{-12, 0}, {12, 0}}), std::make_shared<SmallNormal>(1, 0, 12));
  for (const uint64_t count : {20u, 50u, 400u, 1000u}) {
    const DensitySample sample = sample_density_model(model, {.method = "hmc", .count = count, .seed = 3});
    const auto right = static_cast<double>(
        std::count_if(sample.rows.begin(), sample.rows.end(), [](float x) { return x > 0; }));
    EXPECT_GT(right, 0.2 * static_cast<double>(count)) << count;
    EXPECT_LT(right, 0.8 * static_cast<double>(count)) << count;
    std::vector<float> different = sample.rows;
    std::sort(different.begin(), different.end());
    const auto last = std::unique(different.begin(), different.end());
    EXPECT_GT(static_cast<double>(last - different.begin()), 0.8 * static_cast<double>(count)) << count;
  }
}

TEST(DensitySample, LevelsByGibbs) {
  const SmallEnergy energy = cycle(3, 2, 1, 0);  // independent, P(1) = sigma(1)
  const DensityModel model = small_model(energy, std::make_shared<SmallUniform>(energy.support()));
  for (const char* method : {"auto", "gibbs"}) {
    const DensitySample sample = sample_density_model(model, {.method = method, .count = 4000});
    EXPECT_NEAR(moments(sample, 3, 1).mean, 1 / (1 + std::exp(-1.0)), 0.03) << method;
  }
}

TEST(DensitySample, OnePointAndAnyNumberOfThreads) {
  const DensityModel model = normal_model();
  EXPECT_EQ(sample_density_model(model, {.method = "hmc", .count = 1}).rows.size(), 2u);
  const auto run = [&](int threads) {
    const ThreadLimit limit(threads);
    return sample_density_model(model, {.method = "langevin", .count = 50, .chains = 70}).rows;
  };
  EXPECT_EQ(run(1), run(2));
}

TEST(DensitySample, ImpossibleInputs) {
  const DensityModel model = normal_model();
  EXPECT_THROW(sample_density_model(model, {.method = "gibbs"}), Error);
  EXPECT_THROW(sample_density_model(model, {.method = "magic"}), Error);
  EXPECT_THROW(sample_density_model(model, {.count = 0}), Error);
  EXPECT_THROW(sample_density_model(model, {.chains = 0}), Error);
  const SmallEnergy spins = cycle(3, 2, 1, 0);
  const DensityModel levels = small_model(spins, std::make_shared<SmallUniform>(spins.support()));
  EXPECT_THROW(sample_density_model(levels, {.method = "hmc"}), Error);
}

TEST(DensitySample, DoubtNamesWhatIsWrong) {
  const DensitySample pool{.method = "sir", .rows = {}, .pool_effective = 30, .r_hat = {}, .effective = {}};
  EXPECT_EQ(sample_doubt(pool, 30), "");
  EXPECT_NE(sample_doubt(pool, 31).find("the pool is worth 30.0"), std::string::npos);
  DensitySample chains{.method = "hmc", .rows = {}, .r_hat = {1, 1.04}, .effective = {120, 100}};
  EXPECT_EQ(sample_doubt(chains, 500), "");
  chains.effective[0] = 99;
  EXPECT_NE(sample_doubt(chains, 500).find("worth 99.0"), std::string::npos);
  EXPECT_EQ(sample_doubt(chains, 50), "");
  chains.r_hat[1] = 1.06;
  EXPECT_NE(sample_doubt(chains, 50).find("do not agree (R-hat 1.060"), std::string::npos);
}

}  // namespace
}  // namespace selfnorm
