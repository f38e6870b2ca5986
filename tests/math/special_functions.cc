#include "math/special_functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace selfnorm {
namespace {

constexpr double pi = std::numbers::pi;

// nu = 1: Cauchy's distribution, t = tan(pi (p - 1/2)); nu = 2: t = (2p - 1) / sqrt(2 p (1 - p)).
TEST(StudentT, QuantilesOfOneAndTwoDegreesOfFreedom) {
  for (const double p : {0.001, 0.025, 0.3, 0.5, 0.8, 0.975, 0.9999}) {
    const double cauchy = std::tan(pi * (p - 0.5)), two = (2 * p - 1) / std::sqrt(2 * p * (1 - p));
    EXPECT_NEAR(student_t_quantile(p, 1), cauchy, 1e-12 * std::max(1.0, std::abs(cauchy))) << p;
    EXPECT_NEAR(student_t_quantile(p, 2), two, 1e-12 * std::max(1.0, std::abs(two))) << p;
  }
  EXPECT_NEAR(student_t_quantile(0.975, 1), 12.7062047361747, 1e-12);
}

// Abramowitz & Stegun, table 26.10, and the normal distribution.
TEST(StudentT, QuantilesOfTables) {
  EXPECT_NEAR(student_t_quantile(0.975, 3), 3.182446, 5e-7);
  EXPECT_NEAR(student_t_quantile(0.975, 5), 2.570582, 5e-7);
  EXPECT_NEAR(student_t_quantile(0.975, 30), 2.042272, 5e-7);
  EXPECT_NEAR(student_t_quantile(0.975, 1e9), 1.959964, 5e-7);
  EXPECT_NEAR(student_t_quantile(0.975, 1e300), 1.959964, 5e-7);
}

TEST(LogGamma, Factorials) {
  EXPECT_NEAR(log_gamma(0.5), std::log(std::numbers::pi) / 2, 1e-15);
  for (double n = 1, sum = 0; n < 20; sum += std::log(n), ++n) EXPECT_NEAR(log_gamma(n), sum, 1e-13);
}

TEST(Digamma, ValuesAndRecurrence) {
  EXPECT_NEAR(digamma(1), -std::numbers::egamma, 1e-15);
  EXPECT_NEAR(digamma(0.5), -std::numbers::egamma - 2 * std::numbers::ln2, 1e-14);
  for (const double x : {1e-6, 0.1, 2.5, 9.9, 1e3}) EXPECT_NEAR(digamma(x + 1) - digamma(x), 1 / x, 1e-9);
  EXPECT_NEAR(digamma(1e8), std::log(1e8) - 0.5e-8, 1e-14);
}

TEST(BesselI, AgreesWithTheStandardLibrary) {
  EXPECT_EQ(bessel_i(0).log_zero, 0);
  EXPECT_EQ(bessel_i(0).ratio, 0);
  for (const double x : {1e-3, 0.5, 7.0, 39.9, 40.1, 300.0, 499.0, 501.0, 650.0}) {
    const double zero = std::cyl_bessel_i(0, x);
    EXPECT_NEAR(bessel_i(x).log_zero, std::log(zero), 1e-12 * std::max(1.0, x)) << x;
    EXPECT_NEAR(bessel_i(x).ratio, std::cyl_bessel_i(1, x) / zero, 1e-12) << x;
  }
}

// d log I_0 / dx = I_1 / I_0, where neither can be written as a number any more; the ratio is 1 - 1 / (2x) +
// O(x^-2).
TEST(BesselI, OfLargeArguments) {
  for (const double x : {1e3, 1e5}) {
    EXPECT_NEAR((bessel_i(x + 1).log_zero - bessel_i(x - 1).log_zero) / 2, bessel_i(x).ratio, 1e-9);
    EXPECT_NEAR(bessel_i(x).ratio, 1 - 1 / (2 * x), 1 / (x * x));
  }
}

// Beta(1, b): x = 1 - q^(1/b); Beta(a, 1): x = (1 - q)^(1/a); Beta(a, a) has the median 1/2.
TEST(BetaQuantile, ClosedForms) {
  for (const double q : {1e-6, 0.05, 0.5, 0.99})
    for (const double c : {0.5, 1.0, 7.0, 1e6}) {
      EXPECT_NEAR(beta_upper_quantile(q, 1, c), -std::expm1(std::log(q) / c), 1e-13);
      EXPECT_NEAR(beta_upper_quantile(q, c, 1), std::exp(std::log1p(-q) / c), 1e-13);
      EXPECT_NEAR(beta_upper_quantile(0.5, c, c), 0.5, 1e-12);
    }
}

}  // namespace
}  // namespace selfnorm
