#include "math/gauss_rule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace selfnorm {
namespace {

TEST(GaussRule, TwoAndThreeNodesByHand) {
  const GaussRule two(2), three(3);
  EXPECT_NEAR(two.node[0], 0.5 - std::sqrt(1.0 / 12), 1e-16);
  EXPECT_EQ(two.weight, (std::vector{0.5, 0.5}));
  EXPECT_NEAR(three.node[2], 0.5 + std::sqrt(0.15), 1e-16);
  EXPECT_EQ(three.node[1], 0.5);
  EXPECT_NEAR(three.weight[0], 5.0 / 18, 1e-16);
  EXPECT_NEAR(three.weight[1], 4.0 / 9, 1e-16);
}

TEST(GaussRule, ExactForPolynomialsOfDegreeTwoNMinusOne) {
  for (uint32_t n = 1; n <= 64; ++n) {
    const GaussRule rule(n);
    ASSERT_EQ(rule.size(), n);
    for (uint32_t degree = 0; degree < 2 * n; ++degree) {
      double sum = 0;
      for (size_t i = 0; i < n; ++i) sum += rule.weight[i] * std::pow(rule.node[i], degree);
      EXPECT_NEAR(sum, 1.0 / (degree + 1), 1e-14) << n << " " << degree;
    }
    EXPECT_TRUE(std::is_sorted(rule.node.begin(), rule.node.end()));
  }
}

TEST(KronrodNodes, LieBetweenThoseOfGauss) {
  EXPECT_NEAR(kronrod_nodes(1)[1], 0.5 + std::sqrt(0.15), 1e-16);  // 1, 3: Gauss's rule of three
  for (uint32_t n = 1; n <= 20; ++n) {
    const GaussRule rule(n);
    const std::vector<double> node = kronrod_nodes(n);
    ASSERT_EQ(node.size(), n + 1);
    EXPECT_GT(node.front(), 0);
    EXPECT_LT(node.back(), 1);
    for (uint32_t i = 0; i < n; ++i) {
      EXPECT_LT(node[i], rule.node[i]);
      EXPECT_GT(node[i + 1], rule.node[i]);
    }
  }
}

TEST(Legendre, FirstPolynomials) {
  for (const double z : {-1.0, -0.3, 0.0, 0.8, 1.0}) {
    EXPECT_EQ(legendre(0, z), 1);
    EXPECT_EQ(legendre(1, z), z);
    EXPECT_NEAR(legendre(2, z), (3 * z * z - 1) / 2, 1e-15);
    EXPECT_NEAR(legendre(3, z), (5 * z * z * z - 3 * z) / 2, 1e-15);
  }
}

}  // namespace
}  // namespace selfnorm
