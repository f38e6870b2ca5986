// The L-BFGS direction -H g from the pairs (s_i, y_i), i = 0 .. m-1, oldest first, rho_i = 1 / (y_i . s_i)
// (Nocedal & Wright, Algorithm 7.4), in terms of inner products:
//     a_i = rho_i (s_i.g - sum_{j>i} a_j s_i.y_j)                                       newest to oldest
//     b_i = rho_i (t (y_i.g - sum_j a_j y_i.y_j) + sum_{j<i} (a_j - b_j) s_j.y_i)       oldest to newest
//     -H g = -t g + sum_j t a_j y_j - sum_j (a_j - b_j) s_j,     t = 1 / (rho_{m-1} y_{m-1}.y_{m-1}).
// The products s_i.y_j (i <= j) and y_i.y_j are remembered, so a direction costs one pass over the pairs for
// the products with g and the newest y, and one for the sum: 4m vectors of memory traffic where the recursion
// on vectors moves 10m. The products are functions of the pairs alone, so they are no part of a stored state.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace selfnorm {

template <class Real>
class InverseHessian {
 public:
  using Vectors = std::vector<std::vector<Real>>;

  void forget();
  void forget_oldest();

  // out <- -H g. Between calls pairs may only have been appended, besides what forget...() was told.
  void direction(const Vectors& s, const Vectors& y, std::span<const double> rho, std::span<const Real> g,
                 std::span<Real> out);

 private:
  std::vector<std::vector<double>> sy_, yy_;  // [j][i] = s_i.y_j, y_i.y_j for i <= j
};

}  // namespace selfnorm
