// Functions the closed forms of families need and the standard library lacks.
#pragma once

#include <cmath>
#include <numbers>

namespace selfnorm {

// Modified Bessel functions I_0, I_1 at x >= 0, as log I_0 and I_1 / I_0.
struct BesselI {
  double log_zero = 0, ratio = 0;
};
// x <= 40: I_n(x) = (x/2)^n sum_m (x^2/4)^m / (m! (m+n)!), all terms positive (DLMF 10.25.2).
// x > 40: I_n(x) ~ e^x / sqrt(2 pi x) sum_k (-1)^k a_k(n) / x^k, a_k the product over l = 1..k of
// (4n^2 - (2l-1)^2) / (8l) (DLMF 10.40.1); 20 terms leave less than 1e-15.
inline BesselI bessel_i(double x) {
  double zero = 1, one = 1, term_zero = 1, term_one = 1;
  if (x <= 40) {
    const double q = x * x / 4;
    for (double m = 1; term_zero > 1e-17 * zero; ++m) {
      term_zero *= q / (m * m);
      term_one *= q / (m * (m + 1));
      zero += term_zero;
      one += term_one;
    }
    return {std::log(zero), x / 2 * one / zero};
  }
  for (double l = 1; l <= 20; ++l) {
    const double odd = (2 * l - 1) * (2 * l - 1);
    term_zero *= odd / (8 * l * x);
    term_one *= (odd - 4) / (8 * l * x);
    zero += term_zero;
    one += term_one;
  }
  return {x - std::log(2 * std::numbers::pi * x) / 2 + std::log(zero), one / zero};
}

// psi(x) = d log Gamma / dx for x > 0: psi(x) = psi(x + 1) - 1/x up to x >= 10, then DLMF 5.11.2.
inline double digamma(double x) {
  double out = 0;
  for (; x < 10; ++x) out -= 1 / x;
  const double y = 1 / (x * x);
  return out + std::log(x) - 1 / (2 * x) -
         y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y * (1.0 / 132)))));
}

}  // namespace selfnorm
