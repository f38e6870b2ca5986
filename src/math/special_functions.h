// Functions that the standard library lacks, by Boost.Math; and one that it has.
#pragma once

namespace selfnorm {

// log |Gamma(x)|. std::lgamma writes the sign to a variable of the whole program, which threads race for.
double log_gamma(double x);

// psi(x) = d log Gamma / dx for x > 0.
double digamma(double x);

// Modified Bessel functions I_0, I_1 at x >= 0, as log I_0 and I_1 / I_0; of any size.
struct BesselI {
  double log_zero = 0, ratio = 0;
};
BesselI bessel_i(double x);

// The point t with P(T <= t) = p, 0 < p < 1, for Student's T with `dof` > 0 degrees of freedom.
double student_t_quantile(double p, double dof);

// The point x with P(X > x) = q, 0 < q < 1, for X of the distribution Beta(a, b); a, b > 0.
double beta_upper_quantile(double q, double a, double b);

// The standard normal distribution where the standard library cancels or underflows. phi is its density, Phi
// its distribution function.

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
