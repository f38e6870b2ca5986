#include "experiments/theory/closeness.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "experiments/theory/normalisable.h"
#include "experiments/theory/random_table.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

TEST(Closeness, DistancesByHand) {
  const FeatureTable table{2, 2, 2, {0, 0, 0, 0, 3, 4, 1, 0}, {}};
  const FeatureTable set{2, 2, 2, {0, 0, 0, 2, 3, 0, 1, 0}, {}};
  EXPECT_EQ(distances(table, set), (std::vector<double>{2, 4}));
  const Closeness c = closeness(distances(table, set));
  EXPECT_DOUBLE_EQ(c.first_moment, 3);
  EXPECT_DOUBLE_EQ(c.root_second_moment, std::sqrt(10.0));
  EXPECT_DOUBLE_EQ(mean_absolute_bound(c, 2), 6);
  EXPECT_DOUBLE_EQ(rms_bound(c, 2), 2 * std::sqrt(10.0));
}

TEST(Closeness, OutputsThatDoNotExistDoNotCount) {
  const FeatureTable table{1, 2, 1, {0, 100}, {0, -std::numeric_limits<double>::infinity()}};
  const FeatureTable set{1, 2, 1, {1, 0}, {}};
  EXPECT_EQ(distances(table, set), (std::vector<double>{1}));
}

TEST(Closeness, TheSetIsAtDistanceZero) {
  RandomStream random(3);
  const FeatureTable table = random_table(5, 3, 4, random);
  for (const double d : distances(table, table)) EXPECT_EQ(d, 0);
}

// theory.md 1.4 on 5,000 random instances. S is made normalised exactly: the last feature does not depend on
// y, has weight `eta.back()` and takes A(x*) away.
TEST(Closeness, NeitherLipschitzBoundIsViolated) {
  EXPECT_TRUE(rc::check("E|A| and rms A are below their bounds", [](uint32_t seed) {
    RandomStream random(seed);
    for (int i = 0; i < 50; ++i) {
      FeatureTable table = random_table(random);
      const double spread = std::pow(10, 3 * random.uniform() - 2);  // of T around S
      FeatureTable set = table;
      for (double& v : table.values) v += spread * random.normal();
      const std::vector<double> eta = random_eta(table.features, 2, random);
      const std::vector<double> a = log_normalizers(set, eta);
      for (uint64_t x = 0; x < set.inputs; ++x) {
        for (uint32_t y = 0; y < set.outputs; ++y) {
          const size_t last = (x * set.outputs + y + 1) * set.features - 1;
          set.values[last] -= a[x] / eta.back();
          table.values[last] -= a[x] / eta.back();
        }
      }
      RC_ASSERT(is_normalised(set, eta, 1e-9));
      const Closeness c = closeness(distances(table, set));
      const NormalizerMoments m = normalizer_moments(table, eta);
      RC_ASSERT(m.mean_absolute <= mean_absolute_bound(c, norm_of(eta)) + 1e-9);
      RC_ASSERT(m.rms <= rms_bound(c, norm_of(eta)) + 1e-9);
    }
  }));
}

// Both are attained: one output, T along eta.
TEST(Closeness, TheBoundsAreSharp) {
  const FeatureTable table{2, 1, 2, {3, 4, -6, -8}, {}};
  const FeatureTable set{1, 1, 2, {0, 0}, {}};
  const std::vector<double> eta{0.6, 0.8};
  const Closeness c = closeness(distances(table, set));
  const NormalizerMoments m = normalizer_moments(table, eta);
  EXPECT_NEAR(m.mean_absolute, mean_absolute_bound(c, 1), 1e-14);
  EXPECT_NEAR(m.rms, rms_bound(c, 1), 1e-14);
}

TEST(Closeness, RefusesTablesOfAnotherShape) {
  RandomStream random(4);
  const FeatureTable table = random_table(2, 3, 2, random);
  EXPECT_THROW(distances(table, random_table(2, 2, 2, random)), Error);
  EXPECT_THROW(distances(table, random_table(2, 3, 1, random)), Error);
  EXPECT_THROW(distances(table, FeatureTable{}), Error);
  EXPECT_THROW(closeness(std::vector<double>{}), Error);
  EXPECT_THROW(rms_bound({}, -1), Error);
  EXPECT_THROW(mean_absolute_bound({}, std::nan("")), Error);
}

}  // namespace
}  // namespace selfnorm
