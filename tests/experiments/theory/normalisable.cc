#include "experiments/theory/normalisable.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "experiments/theory/random_table.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

using Eta = std::vector<double>;

// theory.md 1.1
TEST(Normalisable, TheExampleIsExactlyNormalised) {
  const auto [table, eta] = normalisable_example();
  for (const double a : log_normalizers(table, eta)) EXPECT_NEAR(a, 0, 1e-15);
  EXPECT_TRUE(is_normalised(table, eta));
  EXPECT_TRUE(is_approximately_normalised(table, eta, 1e-10));
  EXPECT_FALSE(is_normalised(table, Eta{1, 0}));
}

// theory.md 1.2: the uniform model is normalised ...
TEST(Normalisable, TheUniformModelIsNormalised) {
  const auto [table, eta] = only_uniform_example();
  EXPECT_TRUE(is_normalised(table, eta));
  EXPECT_EQ(eta[0], 0);
  EXPECT_EQ(eta[1], 0);
  for (const double p : log_probabilities(table, eta)) EXPECT_NEAR(p, -std::numbers::ln2, 1e-15);
}

// ... and no other. With L = log cosh, A - eta3 - log 2 takes the values L(eta1), L(eta2), L(eta1 + eta2).
// The largest of the three magnitudes, p, is the sum of the others, so the smallest is at most p/2, and by
// convexity L(p/2) <= L(p)/2: the range of A over X is at least L(p)/2, which is 0 only at p = 0.
TEST(Normalisable, NoOtherModelIsNormalised) {
  EXPECT_TRUE(rc::check("A is constant iff eta1 = eta2 = 0", [](uint32_t seed) {
    RandomStream random(seed);
    const auto [table, uniform] = only_uniform_example();
    const auto log_2cosh = [](double v) { return std::abs(v) + std::log1p(std::exp(-2 * std::abs(v))); };
    for (int i = 0; i < 50; ++i) {
      const double size = std::pow(10, 4 * random.uniform() - 3);
      const Eta eta{size * random.normal(), size * random.normal(), random.normal()};
      const Eta a = log_normalizers(table, eta);
      const double at[] = {eta[0], eta[1], eta[0] + eta[1]};
      for (int x = 0; x < 3; ++x) RC_ASSERT(std::abs(a[x] - eta[2] - log_2cosh(at[x])) < 1e-10);
      const auto [low, high] = std::minmax_element(a.begin(), a.end());
      const double largest = std::max({std::abs(at[0]), std::abs(at[1]), std::abs(at[2])});
      RC_ASSERT(*high - *low > (log_2cosh(largest) - std::numbers::ln2) / 2 - 1e-12);
      RC_ASSERT(!is_normalised(table, eta));
    }
  }));
  const FeatureTable table = only_uniform_example().table;
  EXPECT_NEAR(normalizer_moments(table, Eta{0, 0, 0.7}).variance, 0, 1e-30);
  EXPECT_FALSE(is_normalised(table, Eta{0, 0, 0.7}));
}

TEST(Normalisable, MomentsByHand) {
  const Eta a{1, -2, 4};
  const NormalizerMoments m = normalizer_moments(a);
  EXPECT_DOUBLE_EQ(m.mean, 1);
  EXPECT_DOUBLE_EQ(m.variance, 6);
  EXPECT_DOUBLE_EQ(m.rms, std::sqrt(7.0));
  EXPECT_DOUBLE_EQ(m.mean_absolute, 7.0 / 3);
  EXPECT_DOUBLE_EQ(m.largest, 4);
}

// delta bounds the root mean square, strictly.
TEST(Normalisable, DeltaIsARootMeanSquare) {
  const FeatureTable table{2, 1, 1, {3, -4}, {}};
  const double rms = std::sqrt(12.5);
  EXPECT_TRUE(is_approximately_normalised(table, Eta{1}, rms * (1 + 1e-12)));
  EXPECT_FALSE(is_approximately_normalised(table, Eta{1}, rms * (1 - 1e-12)));
  EXPECT_THROW(is_approximately_normalised(table, Eta{1}, 0), Error);
  EXPECT_THROW(is_approximately_normalised(table, Eta{1}, std::nan("")), Error);
  EXPECT_THROW(normalizer_moments(Eta{}), Error);
}

// theory.md 1.3: for scores affine in x, A is convex, so {x : A(x) <= 0} is. Two inputs on the set's boundary
// and any point between them.
TEST(Normalisable, TheSetBelowZeroIsConvex) {
  EXPECT_TRUE(rc::check("A <= 0 between two zeros of A", [](uint32_t seed) {
    RandomStream random(seed);
    for (int i = 0; i < 20; ++i) {
      const uint32_t outputs = static_cast<uint32_t>(2 + random.below(4));
      FeatureTable table = random_table(3, outputs, 3, random);
      const Eta eta = random_eta(3, 2, random);
      // The last feature is a bias of x that puts A(x) = 0 at the first two inputs.
      Eta shift(3);
      const Eta a = log_normalizers(table, eta);
      for (int x = 0; x < 2; ++x) shift[x] = -a[x] / eta[2];
      const double t = random.uniform();
      for (uint32_t y = 0; y < outputs; ++y) {
        for (int x = 0; x < 2; ++x) table.values[(x * outputs + y) * 3 + 2] += shift[x];
        for (uint32_t j = 0; j < 3; ++j) {
          table.values[(2 * outputs + y) * 3 + j] = (1 - t) * table(0, y)[j] + t * table(1, y)[j];
        }
      }
      const Eta moved = log_normalizers(table, eta);
      RC_ASSERT(std::abs(moved[0]) < 1e-9 && std::abs(moved[1]) < 1e-9);
      RC_ASSERT(moved[2] < 1e-9);
    }
  }));
}

// theory.md 1.3: the delta-approximately normalising parameters are not a convex set. One input, T = e_y:
// A = log(exp eta1 + exp eta2) vanishes at (0, -20) and (-20, 0) and is log 2 - 10 halfway.
TEST(Normalisable, TheApproximatelyNormalisingParametersAreNotConvex) {
  const FeatureTable table{1, 2, 2, {1, 0, 0, 1}, {}};
  EXPECT_TRUE(is_approximately_normalised(table, Eta{0, -20}, 0.1));
  EXPECT_TRUE(is_approximately_normalised(table, Eta{-20, 0}, 0.1));
  EXPECT_FALSE(is_approximately_normalised(table, Eta{-10, -10}, 0.1));
}

}  // namespace
}  // namespace selfnorm
