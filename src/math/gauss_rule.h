// Nodes and weights of quadrature, by Boost.Math.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace selfnorm {

// The Legendre polynomial P_n(z).
double legendre(uint32_t n, double z);

// Gauss-Legendre of n >= 1 nodes on [0, 1], ascending: node_i = (1 + z_i) / 2 of the roots z_i of P_n,
// weight_i = 1 / ((1 - z_i^2) P_n'(z_i)^2), of sum 1 (Numerical Recipes 4.5).
struct GaussRule {
  explicit GaussRule(uint32_t n);

  std::vector<double> node, weight;

  size_t size() const { return node.size(); }
};

// Between and around the nodes of GaussRule(n), ascending in (0, 1): the n + 1 roots of the Stieltjes
// polynomial, E = P_{n+1} + sum_i a_i P_i with
//     integral P_n E P_k = 0,  k = 0 .. n                                            [Kronrod 1965]
std::vector<double> kronrod_nodes(uint32_t n);

// A Gauss-Legendre rule of n points inside a Kronrod rule of 2n + 1 on [0, 1] (math/gauss_rule.h), exact for
// polynomials of degree 3n + 1; the difference of the two rules estimates the error.
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
