#include "selfnorm/density.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

namespace selfnorm {
namespace {

std::vector<float> normals(uint64_t rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> x(3, 2);
  std::vector<float> out(rows * 2);
  for (float& value : out) value = x(random);
  return out;
}

// Of two independent normal columns, N(3, 4): the entropy is log(2 pi e 4).
TEST(ApiDensity, LikelihoodOfNormalsIsTheirEntropy) {
  const std::vector<float> train = normals(2000, 1), test = normals(2000, 2);
  const EnergyDensity model = EnergyDensity::train({train, 2}, {{"energy", "gaussian"}});
  EXPECT_EQ(model.columns(), 2u);
  const DensityQuality found = model.evaluate({test, 2});
  EXPECT_TRUE(found.is_trusted) << found.distrust;
  const double entropy = std::log(2 * std::numbers::pi * std::numbers::e * 4);
  EXPECT_NEAR(found.nll, entropy, 0.05);
  EXPECT_NEAR(found.b, found.log_z, 1e-4);
  double nll = 0;
  for (const double log_density : model.log_densities({test, 2})) nll -= log_density / 2000;
  EXPECT_NEAR(found.nll_b, nll, 1e-9);

  const std::vector<float> drawn = model.sample(4000, 7);
  ASSERT_EQ(drawn.size(), 8000u);
  double mean = 0;
  for (const float value : drawn) mean += value / 8000.0;
  EXPECT_NEAR(mean, 3, 0.15);

  const std::string path = testing::TempDir() + "api_density.safetensors";
  model.save(path);
  EXPECT_EQ(EnergyDensity::load(path).log_densities({test, 2}), model.log_densities({test, 2}));
}

TEST(ApiDensity, NormalizerSamplesAndParameters) {
  const std::vector<float> train = normals(400, 5);
  const EnergyDensity model = EnergyDensity::train({train, 2}, {{"energy", "gaussian"}});
  const DensityNormalizer z = model.normalizer();
  EXPECT_TRUE(z.distrust.empty());
  EXPECT_LE(z.low, z.log_z);
  EXPECT_LE(z.log_z, z.high);
  EXPECT_GT(model.parameters(), 3u);
  EXPECT_EQ(model.sample({{"number", 7}, {"seed", 1}}).size(), 14u);
  EXPECT_EQ(model.sample(7, 1), model.sample({{"number", 7}, {"seed", 1}}));
}

TEST(ApiDensity, MistakesSayWhatWasExpected) {
  const std::vector<float> data = normals(50, 3);
  EXPECT_THROW(EnergyDensity::train({data, 3}), Error);
  EXPECT_THROW(EnergyDensity::train({data, 2}, {{"energy", "none such"}}), Error);
  EXPECT_THROW(EnergyDensity::train({data, 2}, {{"energy", "gaussian"}, {"steps", 9}}),
               Error);  // fitted at once
  EXPECT_THROW(EnergyDensity::train({data, 2}, {{"energies", "gaussian"}}), Error);
  EXPECT_THROW(EnergyDensity::train({data, 2}, {{"energy", "gaussian"}, {"slices", 3}}), Error);
  const EnergyDensity model = EnergyDensity::train({data, 2}, {{"energy", "gaussian"}});
  EXPECT_THROW(model.log_densities({data, 1}), Error);
  EXPECT_THROW(model.sample(0), Error);
}

}  // namespace
}  // namespace selfnorm
