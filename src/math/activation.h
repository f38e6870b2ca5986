// Activations f of a network with their derivatives, sigma(z) = 1 / (1 + exp(-z)), Phi and phi the normal
// distribution function and density:
//     silu      z sigma(z)
//     relu      max(z, 0); f' = [z > 0] and nothing beyond
//     tanh      tanh z
//     softplus  log(1 + exp z)
//     gelu      z Phi(z), the exact one; Phi by Abramowitz & Stegun 7.1.26, |error| < 1e-7
// Compiled for several instruction sets (math/kernels.h). For every finite z without overflow; NaN gives NaN.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace selfnorm {

enum class Activation { silu, relu, tanh, softplus, gelu };

std::vector<std::string> activation_names();
Activation activation_of(const std::string& name);  // throws Error naming the names

// A matrix inside rows `stride` apart.
struct RowBlock {
  size_t rows, columns, stride;
};

// value <- f(z) and, unless it is null, slope <- f'(z), with one exponential for both. value may be z.
void activate(Activation f, const RowBlock& block, const float* z, float* value, float* slope);

// value <- f(z), d1 <- f'(z), d2 <- f''(z), d3 <- f'''(z). value may be z.
struct ActivationJet {
  float *value, *d1, *d2, *d3;
};
void activate_jet(Activation f, const RowBlock& block, const float* z, const ActivationJet& out);

// product <- x y, element by element, and, unless it is null, sums_j <- sums_j + sum over rows of product.
void multiply_rows(const RowBlock& block, const float* x, const float* y, float* product, float* sums);

// cosine_i <- cos z_i, sine_i <- sin z_i for i = 0 .. n-1.
void cos_sin(size_t n, const float* z, float* cosine, float* sine);

}  // namespace selfnorm
