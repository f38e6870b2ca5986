#include "math/special_functions.h"

#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/bessel.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <cmath>
#include <limits>
#include <numbers>

namespace selfnorm {
namespace {

constexpr double kAsymptoticFrom = 500;  // I_0 overflows from 714 on
constexpr int kAsymptoticTerms = 6;      // leave less than 1e-16

constexpr double kHalfRoot = std::numbers::sqrt2 / 2;
constexpr double kFractionFrom = 3;
constexpr int kFractionTerms = 60;  // leave less than 1e-16 at x = 3

}  // namespace

double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

double digamma(double x) { return boost::math::digamma(x); }

// x > 500: I_n(x) ~ e^x / sqrt(2 pi x) sum_k (-1)^k a_k(n) / x^k, a_k the product over l = 1..k of
// (4n^2 - (2l-1)^2) / (8l) (DLMF 10.40.1).
BesselI bessel_i(double x) {
  if (x <= kAsymptoticFrom) {
    const double zero = boost::math::cyl_bessel_i(0, x);
    return {std::log(zero), boost::math::cyl_bessel_i(1, x) / zero};
  }
  double zero = 1, one = 1, term_zero = 1, term_one = 1;
  for (int l = 1; l <= kAsymptoticTerms; ++l) {
    const double odd = (2.0 * l - 1) * (2.0 * l - 1);
    zero += term_zero *= odd / (8 * l * x);
    one += term_one *= (odd - 4) / (8 * l * x);
  }
  return {x - std::log(2 * std::numbers::pi * x) / 2 + std::log(zero), one / zero};
}

double student_t_quantile(double p, double dof) {
  return boost::math::quantile(boost::math::students_t(dof), p);
}

double beta_upper_quantile(double q, double a, double b) { return boost::math::ibetac_inv(a, b, q); }

double normal_mass(double a, double b) {
  return a > 0   ? (std::erfc(a * kHalfRoot) - std::erfc(b * kHalfRoot)) / 2
         : b < 0 ? (std::erfc(-b * kHalfRoot) - std::erfc(-a * kHalfRoot)) / 2
                 : (std::erf(b * kHalfRoot) - std::erf(a * kHalfRoot)) / 2;
}

MillsRatio mills_ratio(double x) {
  if (!(x >= 0)) return {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
  if (x < kFractionFrom) {
    const double ratio = std::sqrt(std::numbers::pi / 2) * std::exp(x * x / 2) * std::erfc(x * kHalfRoot);
    return {ratio, 1 / ratio - x};
  }
  double below = x;
  for (int k = kFractionTerms; k >= 2; --k) below = x + k / below;
  return {1 / (x + 1 / below), 1 / below};
}

}  // namespace selfnorm
