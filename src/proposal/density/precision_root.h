// W, lower triangular with a positive diagonal, W'W = covariance^-1: z = W (x - mean) has covariance 1, and
//     log N(x; mean) = log det W - |z|^2 / 2 - d/2 log 2 pi.
// Its inverse L is the Cholesky factor of the covariance. Packed by rows, W_ij at i (i + 1) / 2 + j, or the
// diagonal alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/points/points.h"

namespace selfnorm {

class PrecisionRoot {
 public:
  enum class Shape { diagonal, full };

  // Throws Error unless the values are finite, as many as the shape has, and positive on the diagonal.
  PrecisionRoot(Shape shape, uint32_t dimension, std::vector<double> values);
  // Of a d x d covariance, whose lower triangle is read. Throws Error when it is not positive definite.
  static PrecisionRoot of_covariance(uint32_t dimension, std::span<const double> covariance);
  static size_t size(Shape shape, uint32_t dimension);

  uint32_t dimension() const { return dimension_; }
  Shape shape() const { return shape_; }
  std::span<const double> values() const { return values_; }
  std::span<const double> inverse() const { return inverse_; }
  double at(uint32_t i, uint32_t j) const;  // W_ij, any i and j
  double log_determinant() const { return log_determinant_; }

  // In place: W v, W'v and W^-1 v.
  void whiten(std::span<double> v) const;
  void pull_back(std::span<double> v) const;
  void unwhiten(std::span<double> v) const;
  // That of x when this one is of (x - shift) / scale: W_ij / scale_j.
  PrecisionRoot unscaled(std::span<const double> scale) const;

  // Unconstrained: log W_ii on the diagonal.
  std::vector<double> parameters() const;
  static PrecisionRoot of_parameters(Shape shape, uint32_t dimension, std::span<const double> parameters);
  // gradient += weight d(log det W - |z|^2 / 2) / d parameters, z = W delta: -z_i delta_j, and
  // 1 - z_i delta_i W_ii for log W_ii.
  void add_gradient(double weight, std::span<const double> delta, std::span<const double> z,
                    std::span<double> gradient) const;

 private:
  Shape shape_;
  uint32_t dimension_;
  std::vector<double> values_, inverse_;
  double log_determinant_ = 0;
};

// Means, scales and covariances of points, from which Gaussian shapes are fitted.

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
