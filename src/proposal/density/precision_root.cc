#include "proposal/density/precision_root.h"

#include <fmt/format.h>

#include <cmath>

#include "math/kernels.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

size_t row_begin(size_t i) { return i * (i + 1) / 2; }

// Row i of A^-1 is (e_i - sum_{k<i} A_ik row_k) / A_ii.
std::vector<double> triangular_inverse(uint32_t d, const std::vector<double>& a) {
  std::vector<double> inverse(a.size());
  for (size_t i = 0; i < d; ++i) {
    const double* from = a.data() + row_begin(i);
    double* to = inverse.data() + row_begin(i);
    for (size_t k = 0; k < i; ++k) add_scaled(from[k], inverse.data() + row_begin(k), to, k + 1);
    scale(-1 / from[i], to, i);
    to[i] = 1 / from[i];
  }
  return inverse;
}

}  // namespace

size_t PrecisionRoot::size(Shape shape, uint32_t dimension) {
  return shape == Shape::diagonal ? dimension : row_begin(dimension);
}

PrecisionRoot::PrecisionRoot(Shape shape, uint32_t dimension, std::vector<double> values)
    : shape_(shape), dimension_(dimension), values_(std::move(values)) {
  if (values_.size() != size(shape, dimension))
    throw Error(fmt::format("the root of a precision matrix in {} dimensions has {} numbers; expected {}",
                            dimension, values_.size(), size(shape, dimension)));
  for (const double v : values_)
    if (!std::isfinite(v)) throw Error("the root of a precision matrix has a value that is not finite");
  for (uint32_t i = 0; i < dimension; ++i) {
    const double diagonal = at(i, i);
    if (!(diagonal > 0) || !std::isfinite(1 / diagonal))
      throw Error(
          fmt::format("the root of a precision matrix has {} on its diagonal; expected > 0", diagonal));
    log_determinant_ += std::log(diagonal);
  }
  if (shape == Shape::full) {
    inverse_ = triangular_inverse(dimension, values_);
    return;
  }
  inverse_.resize(dimension);
  for (uint32_t i = 0; i < dimension; ++i) inverse_[i] = 1 / values_[i];
}

// L_ij = (S_ij - L_i . L_j) / L_jj, the products over columns before j.
PrecisionRoot PrecisionRoot::of_covariance(uint32_t dimension, std::span<const double> covariance) {
  std::vector<double> factor(row_begin(dimension));
  for (size_t i = 0; i < dimension; ++i) {
    double* row = factor.data() + row_begin(i);
    for (size_t j = 0; j <= i; ++j) {
      const double* other = factor.data() + row_begin(j);
      const double rest = covariance[i * dimension + j] - dot(row, other, j);
      if (j < i) {
        row[j] = rest / other[j];
      } else if (rest > 0) {
        row[i] = std::sqrt(rest);
      } else {
        throw Error(
            fmt::format("a covariance is not positive definite at column {}; expected columns that do "
                        "not determine each other",
                        i));
      }
    }
  }
  return {Shape::full, dimension, triangular_inverse(dimension, factor)};
}

double PrecisionRoot::at(uint32_t i, uint32_t j) const {
  if (shape_ == Shape::diagonal) return i == j ? values_[i] : 0;
  return j <= i ? values_[row_begin(i) + j] : 0;
}

void PrecisionRoot::whiten(std::span<double> v) const {
  if (shape_ == Shape::diagonal) {
    for (size_t i = 0; i < v.size(); ++i) v[i] *= values_[i];
    return;
  }
  for (size_t i = v.size(); i-- > 0;) v[i] = dot(values_.data() + row_begin(i), v.data(), i + 1);
}

void PrecisionRoot::pull_back(std::span<double> v) const {
  if (shape_ == Shape::diagonal) return whiten(v);
  for (size_t i = 0; i < v.size(); ++i) {
    const double* row = values_.data() + row_begin(i);
    const double z = v[i];
    add_scaled(z, row, v.data(), i);
    v[i] = z * row[i];
  }
}

void PrecisionRoot::unwhiten(std::span<double> v) const {
  if (shape_ == Shape::diagonal) {
    for (size_t i = 0; i < v.size(); ++i) v[i] *= inverse_[i];
    return;
  }
  for (size_t i = v.size(); i-- > 0;) v[i] = dot(inverse_.data() + row_begin(i), v.data(), i + 1);
}

PrecisionRoot PrecisionRoot::unscaled(std::span<const double> scale) const {
  std::vector<double> values = values_;
  if (shape_ == Shape::diagonal) {
    for (size_t i = 0; i < dimension_; ++i) values[i] /= scale[i];
  } else {
    for (size_t i = 0; i < dimension_; ++i)
      for (size_t j = 0; j <= i; ++j) values[row_begin(i) + j] /= scale[j];
  }
  return {shape_, dimension_, std::move(values)};
}

std::vector<double> PrecisionRoot::parameters() const {
  std::vector<double> out = values_;
  for (size_t i = 0; i < dimension_; ++i) {
    double& diagonal = out[shape_ == Shape::diagonal ? i : row_begin(i) + i];
    diagonal = std::log(diagonal);
  }
  return out;
}

PrecisionRoot PrecisionRoot::of_parameters(Shape shape, uint32_t dimension,
                                           std::span<const double> parameters) {
  std::vector<double> values(parameters.begin(), parameters.end());
  for (size_t i = 0; i < dimension; ++i) {
    double& diagonal = values[shape == Shape::diagonal ? i : row_begin(i) + i];
    diagonal = std::exp(diagonal);
  }
  return {shape, dimension, std::move(values)};
}

void PrecisionRoot::add_gradient(double weight, std::span<const double> delta, std::span<const double> z,
                                 std::span<double> gradient) const {
  for (size_t i = 0; i < dimension_; ++i) {
    if (shape_ == Shape::diagonal) {
      gradient[i] += weight * (1 - z[i] * delta[i] * values_[i]);
      continue;
    }
    add_scaled(-weight * z[i], delta.data(), gradient.data() + row_begin(i), i);
    gradient[row_begin(i) + i] += weight * (1 - z[i] * delta[i] * values_[row_begin(i) + i]);
  }
}

}  // namespace selfnorm
