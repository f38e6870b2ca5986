// log p(y|x) of a regressor on a grid of y, and what theory.md 4 asks of it.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "data/toy/generate.h"
#include "model/regressor/regressor.h"

namespace selfnorm {

// Midpoints of `points` equal cells of [low, high].
struct LineGrid {
  double low = 0, high = 1;
  size_t points = 1;

  double cell() const { return (high - low) / static_cast<double>(points); }
  double at(size_t i) const { return low + (static_cast<double>(i) + 0.5) * cell(); }
};

// each(row, log p(y_j|x_row) for every j), rows in order: A(x) by quadrature, densities of members averaged,
// in the units of the data. y is one-dimensional.
void grid_log_density(const Regressor& model, const InputRows& x, const LineGrid& y,
                      const std::function<void(uint64_t, std::span<const double>)>& each);

// log of the mass on the grid: log sum_j p(y_j|x) cell.
double log_grid_mass(std::span<const double> log_density, const LineGrid& y);
// Its mean over inputs: what a model normalised on the grid loses, in NLL, to one that is on the whole line.
double mean_log_grid_mass(const Regressor& model, const InputRows& x, const LineGrid& y);

// KL(true || model), averaged over the midpoints of x of a task of one input.
struct GridDivergence {
  double on_grid = 0;  // the model normalised on the grid
  double whole = 0;    // normalised on the whole line, by quadrature
};
GridDivergence grid_divergence(const Regressor& model, const RegressionTask& task, const LineGrid& x,
                               const LineGrid& y);

// A frame of one numeric column.
Frame column_frame(const std::string& name, const LineGrid& x);

// sqrt(p / its largest value) of x.points columns and y.points rows, row by row from below, to three digits.
std::vector<double> density_picture(const Regressor& model, const LineGrid& x, const LineGrid& y);
std::vector<double> density_picture(const RegressionTask& task, const LineGrid& x, const LineGrid& y);

}  // namespace selfnorm
