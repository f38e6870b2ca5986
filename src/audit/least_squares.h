// Least squares of y on (1, x) for rows that stream by: only means and second moments are kept, so memory is
// d^2 doubles for any number of rows; on a GPU where one was chosen (device_scatter.h). Its residual variance
// for y = A is V* (theory.md 1.5).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/dataset.h"

namespace selfnorm {

struct LinearFit {
  double intercept = 0;
  std::vector<double> slope;
  double variance = 0;            // of y
  double residual_variance = 0;   // of y - intercept - slope . x, on the rows it was fitted to
  double degrees_of_freedom = 0;  // used by the slope: the rank without a ridge, less with one
  uint32_t rank = 0;              // numerical, of the covariance of x
  double condition = 0;  // largest over smallest singular value of the directions used (Cholesky: estimated)
  double ridge =
      0;  // lambda of (C + lambda I)^-1, C the scatter of x with every column divided by the root of its own

  // 1 - residual_variance / variance; 1 when y does not vary.
  double r_squared() const;
  double operator()(const Features& x, uint64_t row) const;
};

// Sums over some rows about their own means.
struct ScatterSums {
  uint64_t rows = 0;
  std::vector<double> mean_x;
  double mean_y = 0;
  std::vector<double> scatter;  // column-major, the lower triangle counts
  std::vector<double> cross;
  double square = 0;
};

class DeviceScatter;

class LeastSquares {
 public:
  explicit LeastSquares(uint32_t columns);

  // The rows of x with their y (all finite).
  void add(const Features& x, std::span<const double> y);
  uint64_t rows() const { return rows_; }

  // The least-squares solution of smallest norm with the columns on one scale: constant columns, and
  // directions whose variance is below 1e-12 of the largest (rounding, for float32 data), are left out. Units
  // do not matter.
  LinearFit fit() const;
  // The ridge that generalised cross-validation prefers (Golub, Heath & Wahba 1979): minimises
  //     (RSS(lambda)/n) / (1 - df(lambda)/n)^2
  // over lambda = 0 and a geometric grid. For n >> d it is fit() itself; for n not much above d it does not
  // interpolate.
  LinearFit fit_for_prediction() const;
  // Whether that takes seconds: the spectrum of thousands of columns takes minutes.
  static bool is_quick(uint32_t columns, uint64_t rows);

 private:
  struct Solver;

  const LeastSquares& gathered() const;  // with the sums of the device

  std::shared_ptr<DeviceScatter> device_;              // where a GPU was chosen
  mutable std::shared_ptr<LeastSquares> on_the_host_;  // gathered() of rows_ rows
  mutable std::shared_ptr<LinearFit> plain_;           // fit() of rows_ rows
  uint32_t columns_;
  uint64_t rows_ = 0;
  std::vector<double> mean_x_;  // of the rows so far
  double mean_y_ = 0;
  std::vector<double> scatter_;  // sum (x - mean)(x - mean)', lower triangle, column-major
  std::vector<double> cross_;    // sum (x - mean)(y - mean)
  double square_ = 0;            // sum (y - mean)^2
};

// The Cholesky factor of a large matrix by blocks: panels in the caller's thread and in stripes, what is left
// of the matrix by products in parallel. Cut by sizes alone, so bits do not depend on the number of threads.
// a: n x n, column-major, of which the lower triangle is read and becomes L with L L' = A; the upper one is
// used as room. False: A is not positive definite, and its triangle is spoilt.
bool cholesky(double* a, size_t n);

}  // namespace selfnorm
