#include "math/special_functions.h"

#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/bessel.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <cmath>
#include <numbers>

namespace selfnorm {
namespace {

constexpr double kAsymptoticFrom = 500;  // I_0 overflows from 714 on
constexpr int kAsymptoticTerms = 6;      // leave less than 1e-16

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

}  // namespace selfnorm
