// Distributions that are hard to normalise [ARJK Thm 4], theory.md 1.6. X is uniform on {0,1}^d, the model is
// multiclass, s_k = eta_k . x. The coordinates of X are independent with variance 1/4, so the regression of A
// on (1, x) has the slopes 4 Cov(A, x_j) and
//     V*(eta) = Var(A - sum_j 4 Cov(A, x_j) x_j),
// here exactly, by enumeration of the cube.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace selfnorm {

// Multiclass parameters, K x d row-major.
struct CubeModel {
  uint32_t dimension = 0;  // d
  uint32_t classes = 0;    // K
  std::vector<double> eta;

  double norm() const;  // |eta|
  CubeModel scaled(double alpha) const;
};

struct CubeVariance {
  double variance = 0;  // Var A
  double v_star = 0;    // of what no linear function of x explains
};

// 1 <= d <= 24; the cube is held as 2^d numbers.
CubeVariance cube_variance(const CubeModel& model);

// The paper's eta0, with a = sqrt(1 - 1/d): class 1 is (-a, a/(d-1), ..., a/(d-1)), class 2 is a/(d(d-1)) in
// every coordinate, the others are 0. |eta0|^2 = 1 + 1/(d^2 (d-1)) and V*(alpha eta0)/alpha^2 ->
// (d-1)^2/(16 d^3). d >= 2, K >= 2.
CubeModel theorem4_model(uint32_t dimension, uint32_t classes);

// What Theorem 4 claims V*(eta) to exceed, with |eta| = norm:
//     |eta|^2 / (32 d (d-1)) - 4 K exp(-sqrt(1-1/d) |eta| / (2 (d-1))) |eta|.
// True for the paper's eta0 when d >= 3, false at d = 2.
double theorem4_bound(double norm, uint32_t dimension, uint32_t classes);

// K = 2, eta_1 = alpha (1, -1, 0, ...), eta_2 = -eta_1, d >= 2. A depends on x through x1 XOR x2 alone, which
// is uncorrelated with every coordinate, so for every d
//     V* = Var A = (alpha + log(1 + exp(-2 alpha)) - log 2)^2 / 4,      |eta| = 2 |alpha|.
CubeModel xor_model(uint32_t dimension, double alpha);
double xor_v_star(double alpha);

}  // namespace selfnorm
