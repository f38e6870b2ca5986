#include "proposal/density/precision_root.h"

#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "math/gemm.h"
#include "math/kernels.h"
#include "math/parallel.h"

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

constexpr double kRidge = 1e-6;
constexpr size_t kTile = 256;

// Pieces of the rows, cut by their number alone: at most 16, so that partial matrices stay few.
size_t piece(uint64_t rows) { return std::max<size_t>(kTile, (size_t{rows} + 15) / 16); }

// sum over the rows of body(row, out), out of `width` numbers; the pieces are added in order.
template <class Body>
std::vector<double> row_sum(const Points& data, size_t width, const Body& body) {
  const size_t grain = piece(data.rows), pieces = (data.rows + grain - 1) / grain;
  std::vector<double> part(pieces * width);
  parallel_ranges(data.rows, grain,
                  [&](size_t begin, size_t end) { body(begin, end, part.data() + begin / grain * width); });
  for (size_t p = 1; p < pieces; ++p)
    for (size_t j = 0; j < width; ++j) part[j] += part[p * width + j];
  part.resize(width);
  return part;
}

}  // namespace

size_t PrecisionRoot::size(Shape shape, uint32_t dimension) {
  return shape == Shape::diagonal ? dimension : row_begin(dimension);
}

PrecisionRoot::PrecisionRoot(Shape shape, uint32_t dimension, std::vector<double> values)
    : shape_(shape), dimension_(dimension), values_(std::move(values)) {
  if (values_.size() != size(shape, dimension))
    throw_error("the root of a precision matrix in {} dimensions has {} numbers; expected {}", dimension,
                values_.size(), size(shape, dimension));
  for (const double v : values_)
    if (!std::isfinite(v)) throw Error("the root of a precision matrix has a value that is not finite");
  for (uint32_t i = 0; i < dimension; ++i) {
    const double diagonal = at(i, i);
    if (!(diagonal > 0) || !std::isfinite(1 / diagonal))
      throw_error("the root of a precision matrix has {} on its diagonal; expected > 0", diagonal);
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
        throw_error(
            "a covariance is not positive definite at column {}; expected columns that do not determine each "
            "other",
            i);
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

void require_finite_points(const Points& data) {
  if (data.rows == 0 || data.columns == 0)
    throw_error("a density cannot be fitted to {} rows of {} columns; expected at least one of each",
                data.rows, data.columns);
  for (uint64_t i = 0; i < data.rows; ++i)
    for (uint32_t j = 0; j < data.columns; ++j)
      if (!std::isfinite(data.row(i)[j]))
        throw_error("row {}, column {} is {}; a density can be fitted to finite numbers only", i, j,
                    data.row(i)[j]);
}

ColumnMoments column_moments(const Points& data) {
  const size_t d = data.columns;
  const auto n = static_cast<double>(data.rows);
  ColumnMoments out;
  out.mean = row_sum(data, d, [&](size_t begin, size_t end, double* sum) {
    for (size_t i = begin; i < end; ++i)
      for (size_t j = 0; j < d; ++j) sum[j] += static_cast<double>(data.row(i)[j]);
  });
  for (double& m : out.mean) m /= n;
  out.scale = row_sum(data, d, [&](size_t begin, size_t end, double* sum) {
    for (size_t i = begin; i < end; ++i)
      for (size_t j = 0; j < d; ++j) {
        const double away = static_cast<double>(data.row(i)[j]) - out.mean[j];
        sum[j] += away * away;
      }
  });
  std::vector<double> largest(d);
  for (uint64_t i = 0; i < data.rows; ++i)
    for (size_t j = 0; j < d; ++j)
      largest[j] = std::max(largest[j], std::abs(static_cast<double>(data.row(i)[j])));
  out.is_constant.resize(d);
  for (size_t j = 0; j < d; ++j) {
    out.scale[j] = std::sqrt(out.scale[j] / n);
    out.is_constant[j] = out.scale[j] <= 1e-6 * largest[j];
    if (out.is_constant[j]) out.scale[j] = 1e-3 * (largest[j] > 0 ? largest[j] : 1);
  }
  return out;
}

void standardise(const Points& data, const ColumnMoments& moments, std::span<double> out) {
  for (uint64_t i = 0; i < data.rows; ++i)
    for (size_t j = 0; j < data.columns; ++j)
      out[i * data.columns + j] = (static_cast<double>(data.row(i)[j]) - moments.mean[j]) / moments.scale[j];
}

PrecisionRoot fitted_root(const Points& data, const ColumnMoments& moments, std::span<const double> weight,
                          std::span<const double> centre) {
  const size_t d = data.columns;
  std::vector<double> matrix = row_sum(data, d * d, [&](size_t begin, size_t end, double* sum) {
    std::vector<double> tile(kTile * d);
    for (size_t first = begin; first < end; first += kTile) {
      const size_t last = std::min(end, first + kTile);
      standardise(data.slice(first, last), moments, tile);
      for (size_t i = first; i < last; ++i)
        for (size_t j = 0; j < d; ++j) {
          double& value = tile[(i - first) * d + j];
          if (!centre.empty()) value -= (centre[j] - moments.mean[j]) / moments.scale[j];
          if (!weight.empty()) value *= std::sqrt(weight[i]);
        }
      gemm_transposed(d, d, last - first, tile.data(), d, tile.data(), d, sum, d);
    }
  });
  for (double& v : matrix) v /= static_cast<double>(data.rows);
  for (size_t j = 0; j < d; ++j) matrix[j * d + j] += kRidge + (moments.is_constant[j] ? 1 : 0);
  return PrecisionRoot::of_covariance(data.columns, matrix).unscaled(moments.scale);
}

}  // namespace selfnorm
