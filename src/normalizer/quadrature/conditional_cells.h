// The cells of one input of a conditional quadrature (normalizer/quadrature/conditional_quadrature.h): their
// scores, integrals and errors, and the region they fill. Scores come from outside, so that all inputs of a
// block ask together.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "normalizer/quadrature/conditional_quadrature.h"
#include "normalizer/quadrature/conditional_start.h"

namespace selfnorm {

// The tensor product of cell_rule(d): first coordinate fastest.
struct ConditionalRule {
  explicit ConditionalRule(uint32_t dimension);

  uint32_t dimension, points;  // points along an axis
  size_t nodes = 1;            // points^d
  std::vector<double> weight;
  std::vector<std::array<uint32_t, 3>> place;  // of a node on every axis

  // What the slices of a cell, their integrals across axis j at the nodes along it, say about its error.
  double error(std::span<const double> slices) const;
};

class ConditionalCells {
 public:
  ConditionalCells(const ConditionalRule& rule, const ConditionalStart& start, const ConditionalBox& support);

  uint64_t evaluations() const { return evaluations_; }
  // Nodes of the cells that wait for their scores, in one dimension the bounds of the support after them, and
  // the scores.
  size_t waiting() const { return waiting_.size() * rule_->nodes + walls_waiting_; }
  void nodes(std::span<float> y) const;
  void take(std::span<const double> s);

  // Asks for halves and wider regions until the errors are small enough: false when they are, or `most`
  // evaluations are reached. Throws Error (without the row) for no mass and for tails that do not decay.
  bool plan(double precision, uint64_t most);

  PredictiveNodes result() const;
  ConditionalLogZ log_z() const;

 private:
  // mantissa exp(exponent), for exponents of any size.
  struct Scaled {
    double mantissa = 0, exponent = -INFINITY;

    double relative_to(double peak) const {
      constexpr double kLargest = 600;
      return mantissa == 0 ? 0 : mantissa * std::exp(std::min(exponent - peak, kLargest));
    }
  };
  struct Cell {
    ConditionalBox box;
    size_t slot = 0;          // of its scores
    double peak = -INFINITY;  // its largest score; the next two are relative to exp(peak)
    double value = 0, rounding = 0;
    Scaled error, parent_error;  // the second: of the cell it is a half of
    uint32_t axis = 0;           // with the largest difference
    Scaled leak;                 // one dimension: mass at an end that its nodes do not see
    double cut = 0;              // where it is cut when that is more than the error; otherwise in the middle

    double doubt(double exponent) const { return error.relative_to(exponent) + leak.relative_to(exponent); }
  };
  struct Totals {
    double peak = -INFINITY, value = 0, error = 0, rounding = 0, tail = 0;  // relative to exp(peak)
  };

  void ask(const ConditionalBox& box, const Scaled& parent_error);
  bool has_wall(bool is_upper) const;
  float inside(double y, uint32_t axis) const;
  void measure(Cell& cell);
  void unround(const ConditionalBox& box, std::span<double> s, std::span<double> doubt) const;
  bool is_splittable(const ConditionalBox& box) const;
  bool is_open(uint32_t axis, bool is_upper) const;
  double beyond(uint32_t axis, bool is_upper, double peak) const;
  double beyond(const Cell& cell, uint32_t axis, bool is_upper, double peak) const;
  void widen(uint32_t axis, bool is_upper);
  void find_leaks();
  void find_leak(const Cell& high, Cell& low, bool is_low_above);
  void find_wall_leak(Cell& cell, bool is_upper);
  void split(double target, double peak, uint64_t most);
  Totals totals() const;
  double relative_error(const Totals& all) const;

  const ConditionalRule* rule_;
  ConditionalBox support_, region_;
  std::array<double, 3> centre_{};
  double unseen_;
  std::vector<Cell> cells_;
  std::vector<double> scores_;
  std::vector<size_t> waiting_;
  size_t walls_waiting_ = 0;
  std::array<double, 2> wall_ = {-INFINITY, -INFINITY};  // score at the lower and upper bound
  uint64_t evaluations_ = 0;
  uint32_t shells_ = 0;
};

}  // namespace selfnorm
