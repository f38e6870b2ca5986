// A Gauss-Legendre rule of n points inside a Kronrod rule of 2n + 1 on [0, 1] (math/gauss_rule.h), exact for
// polynomials of degree 3n + 1; the difference of the two rules estimates the error.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace selfnorm {

struct KronrodRule {
  explicit KronrodRule(uint32_t gauss_points);  // 1 .. 20

  std::vector<double> node;          // ascending, inside (0, 1)
  std::vector<double> weight;        // positive, their sum is 1
  std::vector<double> gauss_weight;  // 0 at the nodes that Gauss's rule does not have
  std::vector<double> cumulative;    // (i, j): integral from 0 to node_i of the Lagrange polynomial l_j
  // The last coefficients, (size + 1) / 4 of them, of the polynomial through (node_j, f_j) in the Legendre
  // polynomials of [0, 1]: c_k = sum_j high_(k, j) f_j. They do not vanish together where f is not smooth.
  std::vector<double> high;

  size_t size() const { return node.size(); }
  // l_j(t) of every node: the polynomial through (node_j, f_j) has the value sum_j l_j(t) f_j.
  void lagrange(double t, std::span<double> l) const;
  // sum_k |c_k| of the last coefficients.
  double roughness(std::span<const double> f) const;
};

}  // namespace selfnorm
