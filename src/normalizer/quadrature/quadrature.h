// log Z = log of the integral of exp s(x) over a real support of 1 to 3 dimensions: boxes, half lines, all of
// R^d, circles as boxes of one period, and products of them.
//
// A region of cells is integrated by tensor Gauss-Legendre rules. The error of a cell is estimated from
// |Q(cell) - sum Q(its 2^d halves)| at two levels (src/normalizer/quadrature/cubature.h); the cells that
// carry most of the error are split until the sum of errors meets the target. Infinite sides start at centre
// +- 4 scale and double (R, 2R, 4R, ...) until what lies beyond is negligible: with t_k the integral over the
// k-th shell, the rest is at most t_k rho / (1 - rho), rho = t_k / t_{k-1}, for tails that decay as a power
// of |x| (then rho is constant) or faster. All in log space relative to the largest score. Features narrower
// than about scale / 50 that nothing around them announces can be missed.
#pragma once

#include <span>
#include <vector>

#include "model/energy/energy.h"
#include "normalizer/log_z_estimate.h"

namespace selfnorm {

struct QuadratureOptions {
  std::vector<double> centre = {}, scale = {};  // of the mass, of every coordinate; empty: 0 and 1; scale > 0
  double precision = 1e-3;                      // target of the error of log Z; 1e-7 .. 1
  uint64_t most_evaluations = 8'000'000;        // then it ends with the interval it has; the
  // first look, at the region and two shells, is always taken

  void validate(uint32_t dimension) const;  // throws Error naming the option, the value and the range
};

// [low, high] = log(Z -+ error), tails included in high. Throws Error for a support that is not real or has
// more than 3 dimensions, a score that is NaN or +inf, no mass, or tails that do not decay.
LogZEstimate quadrature_log_z(const Energy& energy, const QuadratureOptions& options = {});

// Nodes and log weights of the composite rule over a box, `cells` cells along every axis:
// integral f = sum_j exp(log_weight_j) f(x_j), nearly.
struct QuadratureNodes {
  std::vector<float> x;  // row-major
  std::vector<double> log_weight;
};
QuadratureNodes quadrature_nodes(std::span<const double> lower, std::span<const double> upper,
                                 uint32_t cells);

}  // namespace selfnorm
