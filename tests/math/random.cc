#include "math/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

namespace selfnorm {
namespace {

TEST(Random, SameSeedSameNumbersAndStreamsDiffer) {
  RandomStream a(7, 1), b(7, 1), c(7, 2);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const uint64_t value = a.next();
    EXPECT_EQ(value, b.next());
    differs |= value != c.next();
  }
  EXPECT_TRUE(differs);
}

// Means of n draws lie within 5 standard errors: error rate below 1e-6 per check, and the seed is fixed.
TEST(Random, MomentsOfUniformAndNormal) {
  RandomStream random(1);
  const int n = 200000;
  double uniform = 0, normal = 0, square = 0;
  for (int i = 0; i < n; ++i) {
    const double u = random.uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    uniform += u / n;
    const double z = random.normal();
    normal += z / n;
    square += z * z / n;
  }
  const double root = std::sqrt(n);
  EXPECT_NEAR(uniform, 0.5, 5 * std::sqrt(1.0 / 12) / root);
  EXPECT_NEAR(normal, 0, 5 / root);
  EXPECT_NEAR(square, 1, 5 * std::sqrt(2.0) / root);
}

TEST(Random, BelowIsUniform) {
  RandomStream random(3);
  std::vector<int> count(7);
  const int n = 70000;
  for (int i = 0; i < n; ++i) ++count.at(random.below(7));
  for (const int c : count) EXPECT_NEAR(c, n / 7.0, 5 * std::sqrt(n / 7.0));
}

TEST(Random, PermutationHoldsEveryNumberOnce) {
  const std::vector<uint64_t> p = random_permutation(1000, RandomStream(5));
  EXPECT_EQ(std::set<uint64_t>(p.begin(), p.end()).size(), 1000u);
  EXPECT_EQ(std::accumulate(p.begin(), p.end(), uint64_t{0}), 999u * 1000 / 2);
}

}  // namespace
}  // namespace selfnorm
