// The standard normal distribution where the standard library cancels or underflows. phi is its density, Phi
// its distribution function.
#pragma once

namespace selfnorm {

// Phi(b) - Phi(a) for a <= b, within rounding of the smaller tail; 0 where that underflows.
double normal_mass(double a, double b);

// m(x) = (1 - Phi(x)) / phi(x) for x in [0, inf], Mills' ratio, and its excess 1 / m(x) - x, which is the
// mean of t - x for a normal t beyond x. From x = 3 on Laplace's continued fraction (DLMF 7.9.1)
//     m(x) = 1 / (x + excess),   excess = 1 / (x + 2 / (x + 3 / (x + ...))).
struct MillsRatio {
  double ratio = 0, excess = 0;
};
MillsRatio mills_ratio(double x);

}  // namespace selfnorm
