// sigma(x) = 1 / (1 + exp(-x)) and softplus(x) = log(1 + exp(x)) = -log sigma(-x), for every x without
// overflow; d softplus / dx = sigma.
#pragma once

#include <algorithm>
#include <cmath>

namespace selfnorm {

inline double sigmoid(double x) {
  const double e = std::exp(-std::abs(x));
  return (x < 0 ? e : 1) / (1 + e);
}

inline double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

}  // namespace selfnorm
