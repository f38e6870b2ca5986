#include "selfnorm/analysis/certificate.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "selfnorm/base/error.h"
#include "selfnorm/base/range.h"

namespace selfnorm {
namespace {

// log n! - log(sqrt(2 pi n) (n/e)^n), n >= 1.
double stirling_error(double n) {
  if (n <= 15) {
    double log_factorial = 0;
    for (int i = 2; i <= static_cast<int>(n); ++i) log_factorial += std::log(i);
    return log_factorial - (n + 0.5) * std::log(n) + n - 0.5 * std::log(2 * std::numbers::pi);
  }
  const double square = n * n;
  return (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - 1.0 / 1680 / square) / square) / square) / n;
}

// x log(x/m) + m - x, without cancellation where x is close to m.
double deviance(double x, double m) {
  if (std::abs(x - m) >= 0.1 * (x + m)) return x * std::log(x / m) + m - x;
  const double v = (x - m) / (x + m);
  double sum = (x - m) * v, term = 2 * x * v;
  for (int j = 1; j < 1000; ++j) {
    term *= v * v;
    const double next = sum + term / (2 * j + 1);
    if (next == sum) break;
    sum = next;
  }
  return sum;
}

// P(Binomial(n, p) = k) as a saddle-point expansion with its exact correction (Loader 2000), accurate for any
// n; 0 < p < 1.
double binomial_mass(double k, double n, double p) {
  const double q = 1 - p;
  if (k == 0) return std::exp(n * std::log1p(-p));
  if (k == n) return std::exp(n * std::log(p));
  const double log_scale = stirling_error(n) - stirling_error(k) - stirling_error(n - k) -
                           deviance(k, n * p) - deviance(n - k, n * q);
  return std::exp(log_scale) * std::sqrt(n / (2 * std::numbers::pi * k * (n - k)));
}

// The continued fraction of the regularised incomplete beta function, I_x(a,b) = x^a (1-x)^b / (a B(a,b))
// times it (Abramowitz & Stegun 26.5.8, Lentz's method); fast for x < (a+1)/(a+b+2), where it takes
// O(sqrt(max(a,b))) terms.
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto safe = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
  const auto most = static_cast<int64_t>(100 + 20 * std::sqrt(a + b));
  double c = 1, d = 1 / safe(1 - (a + b) * x / (a + 1)), value = d;
  for (int64_t term = 1; term < most; ++term) {
    const double m = static_cast<double>(term);
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / safe(1 + even * d);
    c = safe(1 + even / c);
    value *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / safe(1 + odd * d);
    c = safe(1 + odd / c);
    value *= d * c;
    if (std::abs(d * c - 1) <= std::numeric_limits<double>::epsilon()) break;
  }
  return value;
}

// P(Binomial(n, p) <= k) = I_{1-p}(n-k, k+1) for k < n.
double binomial_lower_tail(double k, double n, double p) {
  const double q = 1 - p;
  if (q <= 0) return 0;
  if (p <= 0) return 1;
  if (q < (n - k + 1) / (n + 3)) return binomial_mass(k, n, p) * p * beta_fraction(n - k, k + 1, q);
  return 1 - binomial_mass(k + 1, n, p) * q * beta_fraction(k + 1, n - k, p);
}

}  // namespace

double clopper_pearson_upper(uint64_t exceed, uint64_t n, double confidence) {
  require_range(confidence > 0 && confidence < 1, "confidence", confidence, "a number between 0 and 1");
  if (n == 0) throw Error("a certificate needs at least one held-out input, received none");
  if (exceed > n) {
    throw Error(fmt::format("{} of {} inputs exceed the bound; expected at most {}", exceed, n, n));
  }
  if (exceed == n) return 1;
  const double beta = 1 - confidence;
  const double k = static_cast<double>(exceed), size = static_cast<double>(n);
  if (exceed == 0) return -std::expm1(std::log(beta) / size);
  // tail(low) >= beta > tail(high), down to neighbouring numbers.
  double low = 0, high = 1;
  for (;;) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) return high;
    (binomial_lower_tail(k, size, middle) >= beta ? low : high) = middle;
  }
}

int64_t largest_certifiable_count(uint64_t n, double rho, double confidence) {
  require_range(rho > 0 && rho < 1, "rho", rho, "a number between 0 and 1");
  // The bound grows with the count: certifiable(low) holds and certifiable(high) does not.
  const auto certifiable = [&](int64_t count) {
    return clopper_pearson_upper(static_cast<uint64_t>(count), n, confidence) <= rho;
  };
  int64_t low = -1, high = static_cast<int64_t>(n);
  if (!certifiable(0)) return low;
  low = 0;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (certifiable(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace selfnorm
