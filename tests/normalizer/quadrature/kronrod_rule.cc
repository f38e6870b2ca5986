#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "math/gauss_rule.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// QUADPACK's tables (qk15.f), on [-1, 1].
TEST(KronrodRule, FifteenPointsAreThoseOfQuadpack) {
  const KronrodRule rule(7);
  const double node[] = {
      0.991455371120812639, 0.949107912342758525, 0.864864423359769073, 0.741531185599394440,
      0.586087235467691130, 0.405845151377397167, 0.207784955007898468, 0};
  const double weight[] = {0.022935322010529225, 0.063092092629978553, 0.104790010322250184,
                           0.140653259715525919, 0.169004726639267903, 0.190350578064785410,
                           0.204432940075298892, 0.209482141084727828};
  ASSERT_EQ(rule.size(), 15u);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_NEAR(1 - 2 * rule.node[i], node[i], 1e-14);
    EXPECT_NEAR(2 * rule.node[14 - i] - 1, node[i], 1e-14);
    EXPECT_NEAR(2 * rule.weight[i], weight[i], 1e-13);
    EXPECT_NEAR(2 * rule.weight[14 - i], weight[i], 1e-13);
  }
}

TEST(KronrodRule, ExactForTheDegreesItPromises) {
  for (const uint32_t n : {1u, 2u, 3u, 5u, 7u, 10u}) {
    const KronrodRule rule(n);
    ASSERT_EQ(rule.size(), 2 * n + 1);
    for (uint32_t degree = 0; degree <= 3 * n + 1; ++degree) {
      double kronrod = 0, gauss = 0;
      for (size_t i = 0; i < rule.size(); ++i) {
        kronrod += rule.weight[i] * std::pow(rule.node[i], degree);
        gauss += rule.gauss_weight[i] * std::pow(rule.node[i], degree);
      }
      EXPECT_NEAR(kronrod, 1.0 / (degree + 1), 1e-13) << n << " " << degree;
      if (degree < 2 * n) {
        EXPECT_NEAR(gauss, 1.0 / (degree + 1), 1e-13) << n << " " << degree;
      }
    }
    for (size_t i = 0; i < rule.size(); ++i) EXPECT_GT(rule.weight[i], 0);
  }
}

TEST(KronrodRule, CumulativeIntegratesThePolynomialThroughTheNodes) {
  const KronrodRule rule(5);
  const size_t n = rule.size();
  for (uint32_t degree = 0; degree < n; ++degree)
    for (size_t i = 0; i < n; ++i) {
      double sum = 0;
      for (size_t j = 0; j < n; ++j) sum += rule.cumulative[i * n + j] * std::pow(rule.node[j], degree);
      EXPECT_NEAR(sum, std::pow(rule.node[i], degree + 1) / (degree + 1), 1e-12);
    }
}

TEST(KronrodRule, LagrangePolynomialsReproducePolynomials) {
  const KronrodRule rule(3);
  std::vector<double> l(rule.size());
  for (const double t : {0.0, 0.123, 0.5, 0.9, 1.0}) {
    rule.lagrange(t, l);
    double sum = 0, cube = 0;
    for (size_t j = 0; j < l.size(); ++j) {
      sum += l[j];
      cube += l[j] * std::pow(rule.node[j], 3);
    }
    EXPECT_NEAR(sum, 1, 1e-12);
    EXPECT_NEAR(cube, t * t * t, 1e-12);
  }
}

// P_k of degrees up to the last has itself as its only coefficient.
TEST(KronrodRule, HighCoefficientsAreThoseOfLegendrePolynomials) {
  for (const uint32_t n : {3u, 5u, 7u}) {
    const KronrodRule rule(n);
    const size_t count = (rule.size() + 1) / 4, first = rule.size() - count;
    ASSERT_EQ(rule.high.size(), count * rule.size());
    for (uint32_t degree = 0; degree < rule.size(); ++degree)
      for (size_t k = 0; k < count; ++k) {
        double c = 0;
        for (size_t j = 0; j < rule.size(); ++j)
          c += rule.high[k * rule.size() + j] * std::legendre(degree, 2 * rule.node[j] - 1);
        EXPECT_NEAR(c, degree == first + k ? 1 : 0, 1e-11);
      }
  }
}

TEST(KronrodRule, RefusesOrdersItDoesNotHave) {
  EXPECT_THROW(KronrodRule(0), Error);
  EXPECT_THROW(KronrodRule(21), Error);
}

}  // namespace
}  // namespace selfnorm
