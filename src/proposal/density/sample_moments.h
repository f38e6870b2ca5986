// Means, scales and covariances of points, from which Gaussian shapes are fitted.
#pragma once

#include "data/points/points.h"
#include "proposal/density/precision_root.h"

namespace selfnorm {

// Throws Error naming row and column unless there are rows and every value is finite.
void require_finite_points(const Points& data);

// Of every column. A column whose standard deviation is below 1e-6 of its largest magnitude counts as
// constant and gets the scale 1e-3 of that magnitude, or 1e-3 where it is 0.
struct ColumnMoments {
  std::vector<double> mean, scale;
  std::vector<bool> is_constant;
};
ColumnMoments column_moments(const Points& data);

// (x - mean) / scale, row-major.
void standardise(const Points& data, const ColumnMoments& moments, std::span<double> out);

// Of the matrix sum_i w_i (x_i - c)(x_i - c)' / total, in the scales of `moments`, with a ridge of 1e-6 and 1
// on the diagonal of constant columns: positive definite for any data. Without `weight` w_i = 1 and c = mean.
PrecisionRoot fitted_root(const Points& data, const ColumnMoments& moments,
                          std::span<const double> weight = {}, std::span<const double> centre = {});

}  // namespace selfnorm
