// sigma(x) = 1 / (1 + exp(-x)) and softplus(x) = log(1 + exp(x)) = -log sigma(-x), for every x without
// overflow; d softplus / dx = sigma.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace selfnorm {

inline double sigmoid(double x) {
  const double e = std::exp(-std::abs(x));
  return (x < 0 ? e : 1) / (1 + e);
}

inline double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

struct SigmoidSums {
  double sigmoid = 0;   // sum_i sigma(x_i)
  double softplus = 0;  // sum_i softplus(x_i), within n 2^-52 and rounding
};

// x_i <- sigma(x_i), compiled for several instruction sets (math/kernels.h). A NaN gives NaN sums.
SigmoidSums sigmoid_in_place(double* x, size_t n);

}  // namespace selfnorm
