// Mean and variance of a stream (Welford 1962): a large mean does not hide a small variance.
#pragma once

#include <cmath>
#include <cstdint>

namespace selfnorm {

struct RunningVariance {
  uint64_t n = 0;
  double mean = 0, square = 0;  // of the values; sum of squared distances from the mean

  void add(double v) {
    ++n;
    const double before = v - mean;
    mean += before / static_cast<double>(n);
    square += before * (v - mean);
  }
  double variance() const { return n == 0 ? 0 : square / static_cast<double>(n); }
  // sqrt(s^2 / n) with the unbiased s^2; 0 for fewer than two values.
  double standard_error() const {
    return n < 2 ? 0 : std::sqrt(square / static_cast<double>(n - 1) / static_cast<double>(n));
  }
};

}  // namespace selfnorm
