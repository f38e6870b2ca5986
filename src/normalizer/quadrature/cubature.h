// Cells of R^d, d <= 3, and the integrals of exp s over them (normalizer/quadrature/quadrature.h).
//
// With D = |Q(cell) - sum Q(its 2^d halves)| and rho = D / D(parent), at most 0.8, the error of the sum is
// taken to be
//     max(D max(1, rho / (1 - rho)), D(parent) / (2 2^d)):
// the first for singularities, where D shrinks by a constant factor from level to level; the second because
// at jumps D vanishes now and then by chance.
#pragma once

#include <array>
#include <cmath>
#include <vector>

#include "model/energy/energy.h"

namespace selfnorm {

// Gauss-Legendre of `order` points per axis on [0, 1]^d; the weights sum to 1.
struct CubatureRule {
  CubatureRule(uint32_t dimension, uint32_t order);

  uint32_t dimension;
  std::vector<double> node;  // row-major
  std::vector<double> log_weight;

  size_t size() const { return log_weight.size(); }
};

struct CubatureBox {
  std::array<double, 3> lower{}, width{};
};

// The cells of the product of segments lower_j .. lower_j + width_j, cells_j along axis j.
std::vector<CubatureBox> box_grid(const CubatureBox& box, const std::array<uint32_t, 3>& cells,
                                  uint32_t dimension);

// Relative to exp(log_scale).
struct CubatureTotals {
  double log_scale = 0;
  double value = 0, error = 0;
  std::vector<double> shell;  // value and error of the cells of every shell
};

class Cubature {
 public:
  Cubature(const Energy& energy, uint32_t order);

  uint64_t evaluations() const { return evaluations_; }
  // What adding n cells costs.
  uint64_t cost(uint64_t cells) const { return cells * rule_.size() * (1 + halves() + halves() * halves()); }

  // Halves the cells once, so that each has a parent.
  void add(std::span<const CubatureBox> boxes, uint32_t shell);
  CubatureTotals totals() const;
  // Splits cells until error <= share * value, or nothing can be split, or the evaluations would exceed
  // `most`.
  void refine(double share, uint64_t most);

 private:
  struct Cell {
    CubatureBox box;
    uint32_t shell = 0;
    double own = 0;                // log Q(cell)
    std::array<double, 8> half{};  // log Q of its halves
    double log_value = 0;          // log of their sum
    double log_difference = 0;     // log |sum - Q(cell)|
    double log_error = 0;
    double parent_difference = -INFINITY;  // log_difference of the cell it is a half of
  };

  size_t halves() const { return size_t{1} << rule_.dimension; }
  CubatureBox half(const CubatureBox& box, size_t h) const;
  bool is_splittable(const CubatureBox& box) const;
  // log Q of every box.
  std::vector<double> integrals(std::span<const CubatureBox> boxes);
  // Integrates the halves of the listed cells and estimates their errors.
  void measure(std::span<const size_t> cells);
  void split(std::span<const size_t> cells);

  const Energy& energy_;
  CubatureRule rule_;
  std::vector<Cell> cells_;
  uint64_t evaluations_ = 0;
};

}  // namespace selfnorm
