#include "experiments/theory/gauge_directions.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>

#include "audit/least_squares.h"
#include "experiments/theory/hard_distribution.h"
#include "experiments/theory/normalisable.h"
#include "experiments/theory/random_table.h"
#include "random_data.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// A random table some of whose features do not depend on y, turned by a random invertible matrix so that no
// single feature shows it. `free` of the `features` directions are free.
FeatureTable hidden_freedom(uint64_t inputs, uint32_t outputs, uint32_t features, uint32_t free,
                            RandomStream& random) {
  FeatureTable plain = random_table(inputs, outputs, features, random);
  for (uint64_t x = 0; x < inputs; ++x) {
    for (uint32_t y = 1; y < outputs; ++y) {
      for (uint32_t j = 0; j < free; ++j) plain.values[(x * outputs + y) * features + j] = plain(x, 0)[j];
    }
  }
  const std::vector<double> turn = random_eta(features * features, 1, random);
  FeatureTable table = plain;
  for (uint64_t row = 0; row < inputs * outputs; ++row) {
    for (uint32_t i = 0; i < features; ++i) {
      double sum = 0;
      for (uint32_t j = 0; j < features; ++j)
        sum += turn[i * features + j] * plain.values[row * features + j];
      table.values[row * features + i] = sum;
    }
  }
  return table;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

TEST(GaugeDirections, AreFoundOrthonormalAndFree) {
  EXPECT_TRUE(rc::check("free directions", [](uint32_t seed) {
    RandomStream random(seed);
    const uint32_t features = static_cast<uint32_t>(2 + random.below(6));
    const uint32_t free = static_cast<uint32_t>(random.below(features + 1));
    const FeatureTable table = hidden_freedom(12, 3, features, free, random);
    const auto basis = free_directions(table);
    RC_ASSERT(basis.size() == free);
    for (size_t i = 0; i < basis.size(); ++i) {
      for (size_t j = 0; j <= i; ++j) {
        double product = 0;
        for (uint32_t k = 0; k < features; ++k) product += basis[i][k] * basis[j][k];
        RC_ASSERT(std::abs(product - (i == j)) < 1e-9);
      }
      const std::vector<double> s = scores(table, basis[i]);
      for (uint64_t x = 0; x < table.inputs; ++x) {
        for (uint32_t y = 1; y < 3; ++y) RC_ASSERT(std::abs(s[x * 3 + y] - s[x * 3]) < 1e-8);
      }
    }
  }));
}

// Units do not matter: a feature of size 1e-12 beside one of size 1e6 is still bound.
TEST(GaugeDirections, TheUnitsOfTheFeaturesDoNotMatter) {
  RandomStream random(9);
  FeatureTable table = hidden_freedom(20, 4, 5, 0, random);
  const double unit[] = {1e6, 1, 1e-12, 1, 1e3};
  for (size_t i = 0; i < table.values.size(); ++i) table.values[i] *= unit[i % 5];
  EXPECT_TRUE(free_directions(table).empty());
}

TEST(GaugeDirections, ATableThatDoesNotDependOnYIsAllFree) {
  const FeatureTable table{2, 2, 2, {1, 2, 1, 2, 3, 5, 3, 5}, {}};
  EXPECT_EQ(free_directions(table).size(), 2u);
  const GaugeOptimum optimum = smallest_variance(table, std::vector<double>{1, 1});
  EXPECT_NEAR(optimum.v_star, 0, 1e-25);
  EXPECT_TRUE(is_normalised(table, optimum.eta));
}

TEST(GaugeDirections, OutputsThatDoNotExistDoNotBind) {
  FeatureTable table{2, 3, 1, {1, 1, 9, 2, 2, 7}, {}};
  EXPECT_TRUE(free_directions(table).empty());
  table.log_carrier = {0, 0, -std::numeric_limits<double>::infinity()};
  EXPECT_EQ(free_directions(table).size(), 1u);
}

// Multiclass block features: the free directions are the d shifts of all classes, and V* is the residual
// variance of A on (1, x).
TEST(GaugeDirections, MulticlassVStarIsTheRegressionOnX) {
  EXPECT_TRUE(rc::check("V* of block features = V* of least squares", [](uint16_t seed) {
    RandomStream random(seed);
    const uint32_t d = static_cast<uint32_t>(1 + random.below(4)),
                   k = static_cast<uint32_t>(2 + random.below(3));
    const Dataset data = random_dataset({.rows = 25, .features = d, .classes = k}, seed);
    const FeatureTable table = multiclass_table(data.features.dense, k);
    const std::vector<double> eta = random_eta(d * k, 2, random);
    LeastSquares fit(d);
    fit.add(data.features, log_normalizers(table, eta));
    const GaugeOptimum optimum = smallest_variance(table, eta);
    RC_ASSERT(optimum.directions == d);
    RC_ASSERT(std::abs(optimum.variance - fit.fit().variance) < 1e-9);
    RC_ASSERT(std::abs(optimum.v_star - fit.fit().residual_variance) < 1e-9);
  }));
}

// On the whole cube, uniform, V* is that of the closed form.
TEST(GaugeDirections, XorOnTheCube) {
  const CubeModel model = xor_model(3, 4);
  DenseMatrix x{8, 3, {}};
  for (int corner = 0; corner < 8; ++corner)
    for (int j = 0; j < 3; ++j) x.values.push_back(static_cast<float>(corner >> j & 1));
  EXPECT_NEAR(smallest_variance(multiclass_table(x, 2), model.eta).v_star, xor_v_star(4), 1e-12);
}

// The parameters returned are the same distribution, have the variance promised, and nobody equivalent has
// less.
TEST(GaugeDirections, TheOptimumIsEquivalentAndBest) {
  EXPECT_TRUE(rc::check("smallest variance", [](uint32_t seed) {
    RandomStream random(seed);
    const uint32_t features = static_cast<uint32_t>(2 + random.below(5));
    const uint32_t free = static_cast<uint32_t>(1 + random.below(features));
    const FeatureTable table = hidden_freedom(15, 3, features, free, random);
    const std::vector<double> eta = random_eta(features, 1, random);
    const GaugeOptimum optimum = smallest_variance(table, eta);
    RC_ASSERT(largest_difference(log_probabilities(table, eta), log_probabilities(table, optimum.eta)) <
              1e-7);
    const double v_star = normalizer_moments(table, optimum.eta).variance;
    RC_ASSERT(std::abs(v_star - optimum.v_star) < 1e-7 * (1 + optimum.variance));
    RC_ASSERT(optimum.v_star <= optimum.variance * (1 + 1e-12));
    const auto basis = free_directions(table);
    for (int i = 0; i < 20; ++i) {
      std::vector<double> other = optimum.eta;
      for (const auto& v : basis) {
        const double step = std::pow(10, -3 * random.uniform()) * random.normal();
        for (uint32_t j = 0; j < features; ++j) other[j] += step * v[j];
      }
      RC_ASSERT(normalizer_moments(table, other).variance >= optimum.v_star - 1e-7 * (1 + optimum.variance));
    }
  }));
}

// With a constant among the free features the mean goes too: theory.md 1.1 from any bias.
TEST(GaugeDirections, AConstantFeatureTakesTheMeanAway) {
  const FeatureTable table = normalisable_example().table;
  const GaugeOptimum optimum = smallest_variance(table, std::vector<double>{1, 5});
  EXPECT_EQ(optimum.directions, 1u);
  EXPECT_NEAR(optimum.eta[0], 1, 1e-14);
  EXPECT_NEAR(optimum.eta[1], std::log(0.4), 1e-14);
  EXPECT_TRUE(is_normalised(table, optimum.eta));
}

TEST(GaugeDirections, WithoutFreedomNothingChanges) {
  RandomStream random(11);
  const FeatureTable table = hidden_freedom(10, 3, 4, 0, random);
  const std::vector<double> eta = random_eta(4, 1, random);
  const GaugeOptimum optimum = smallest_variance(table, eta);
  EXPECT_EQ(optimum.eta, eta);
  EXPECT_EQ(optimum.v_star, optimum.variance);
  EXPECT_THROW(smallest_variance(table, std::vector<double>{1}), Error);
  EXPECT_THROW(free_directions(FeatureTable{}), Error);
}

}  // namespace
}  // namespace selfnorm
