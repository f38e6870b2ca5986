// Nodes and weights of quadrature, by Boost.Math.
#pragma once

#include <cstddef>
#include <cstdint>
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

}  // namespace selfnorm
