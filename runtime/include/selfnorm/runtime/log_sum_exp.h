// The project's only log-sum-exp: a streaming accumulator of log sum_i exp(s_i), kept as (max, sum) with
// log sum_i exp(s_i) = max + log(sum) and sum = sum_i exp(s_i - max), so nothing overflows.
// Domain: s_i in [-inf, +inf]; the empty sum is -inf; any NaN gives NaN; +inf gives +inf.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>

namespace selfnorm {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class Real>
bool are_finite(const Real* values, size_t n) {
  unsigned good = 1;  // no branch, so that it is done in vectors
  for (size_t i = 0; i < n; ++i)
    good &= std::fabs(values[i]) < std::numeric_limits<Real>::infinity() ? 1u : 0u;
  return good == 1;
}

struct LogSumExp {
  double max = -kInfinity;
  double sum = 0;

  void add(double s) { merge({s, 1}); }

  // (m1, t1) + (m2, t2) = (m, t1 exp(m1 - m) + t2 exp(m2 - m)) with m = max(m1, m2).
  void merge(const LogSumExp& other) {
    if (std::isnan(other.max) || std::isnan(max)) {
      max = std::numeric_limits<double>::quiet_NaN();
    } else if (other.max <= max) {
      if (!std::isinf(max)) sum += other.sum * std::exp(other.max - max);
    } else {
      sum = std::isinf(other.max) ? other.sum : other.sum + sum * std::exp(max - other.max);
      max = other.max;
    }
  }

  double value() const { return std::isinf(max) || std::isnan(max) ? max : max + std::log(sum); }

  // log(exp(s) / sum_i exp(s_i)) without the rounding of value(), so that the shares of scores of any size
  // sum to 1; at most 0 where s is one of the s_i. Domain: s and value() are finite.
  double log_share(double s) const { return (s - max) - std::log(sum); }
};

}  // namespace selfnorm
