#include "model/multiclass.h"

#include <algorithm>
#include <type_traits>

#include "math/gemm.h"
#include "math/kernels.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

SparseView sparse_view(const SparseMatrix& x, uint64_t i) {
  return {x.column.data() + x.begin[i], x.value.data() + x.begin[i], x.begin[i + 1] - x.begin[i]};
}

// The dense rows as Real: the data itself for float, a converted copy in `copy` for double.
template <class Real>
const Real* dense_rows(const DenseMatrix& x, Range rows, std::vector<Real>& copy) {
  const float* first = x.values.data() + rows.begin * x.columns;
  if constexpr (std::is_same_v<Real, float>) {
    return first;
  } else {
    copy.assign(first, first + rows.size() * x.columns);
    return copy.data();
  }
}

}  // namespace

template <class Real>
Multiclass<Real>::Multiclass(const Features& x, uint32_t classes, uint32_t features,
                             std::span<const float> log_carrier, const FeatureMap* map)
    : x_(x),
      classes_(classes),
      features_(features),
      log_carrier_(log_carrier),
      map_(map == nullptr || map->feature.empty() ? nullptr : map->feature.data()) {
  SELFNORM_CHECK(x.is_sparse || map_ == nullptr);
  SELFNORM_CHECK(map_ != nullptr || x.columns() <= features);
  SELFNORM_CHECK(log_carrier.empty() || log_carrier.size() == classes);
}

template <class Real>
void Multiclass<Real>::scores(std::span<const Real> theta, Range rows, Range tile, Real* out) const {
  const size_t width = tile.size();
  const Real* weights = theta.data() + tile.begin;
  const Real* biases = weights + size_t{features_} * classes_;
  Real* row = out;
  for (uint64_t i = rows.begin; i < rows.end; ++i, row += width) {
    std::copy(biases, biases + width, row);
    if (!log_carrier_.empty()) {
      for (size_t k = 0; k < width; ++k) row[k] += static_cast<Real>(log_carrier_[tile.begin + k]);
    }
    if (x_.is_sparse) add_sparse_product(sparse_view(x_.sparse, i), weights, classes_, map_, row, width);
  }
  if (!x_.is_sparse) {
    std::vector<Real> copy;
    const Real* x = dense_rows(x_.dense, rows, copy);
    gemm(rows.size(), width, x_.dense.columns, x, x_.dense.columns, weights, classes_, Real{1}, out, width);
  } else {
    x_.sparse.were_read(rows.begin, rows.end);
  }
}

template <class Real>
void Multiclass<Real>::backward(Range rows, Range tile, const Real* d_scores, Real* gradient) const {
  const size_t width = tile.size();
  Real* weights = gradient + tile.begin;
  Real* biases = weights + size_t{x_.columns()} * classes_;
  const Real* row = d_scores;
  for (uint64_t i = rows.begin; i < rows.end; ++i, row += width) {
    add_scaled(Real{1}, row, biases, width);
    if (x_.is_sparse) add_sparse_outer(sparse_view(x_.sparse, i), row, weights, classes_, width);
  }
  if (!x_.is_sparse) {
    std::vector<Real> copy;
    const Real* x = dense_rows(x_.dense, rows, copy);
    gemm_transposed(x_.dense.columns, width, rows.size(), x, x_.dense.columns, d_scores, width, weights,
                    classes_);
  } else {
    x_.sparse.were_read(rows.begin, rows.end);
  }
}

template <class Real>
double Multiclass<Real>::score(std::span<const Real> theta, uint64_t row, uint32_t k) const {
  double s = static_cast<double>(theta[size_t{features_} * classes_ + k]);
  if (!log_carrier_.empty()) s += static_cast<double>(log_carrier_[k]);
  const auto weight = [&](size_t feature) { return static_cast<double>(theta[feature * classes_ + k]); };
  for_each_entry(x_, row, [&](uint32_t j, float v) {
    s += static_cast<double>(v) * weight(map_ == nullptr ? j : map_[j]);
  });
  if (x_.is_sparse) x_.sparse.were_read(row, row + 1);
  return s;
}

template <class Real>
void Multiclass<Real>::backward(uint64_t row, uint32_t k, double d_score, Real* gradient) const {
  const Real d = static_cast<Real>(d_score);
  const auto add = [&](size_t column, float x) {
    gradient[column * classes_ + k] += d * static_cast<Real>(x);
  };
  for_each_entry(x_, row, add);
  add(x_.columns(), 1);
}

template <class Real>
std::vector<Real> initial_parameters(uint32_t classes, uint32_t features,
                                     std::span<const float> log_carrier) {
  LogSumExp mass;
  for (uint32_t k = 0; k < classes; ++k)
    mass.add(log_carrier.empty() ? 0 : static_cast<double>(log_carrier[k]));
  std::vector<Real> theta((size_t{features} + 1) * classes);
  std::fill(theta.end() - classes, theta.end(), static_cast<Real>(-mass.value()));
  return theta;
}

template class Multiclass<float>;
template class Multiclass<double>;
template std::vector<float> initial_parameters(uint32_t, uint32_t, std::span<const float>);
template std::vector<double> initial_parameters(uint32_t, uint32_t, std::span<const float>);

template <class Real>
double Joint<Real>::score(std::span<const Real> theta, uint64_t row) const {
  double s = 0;
  for_each_entry(x_, row,
                 [&](uint32_t j, float v) { s += static_cast<double>(v) * static_cast<double>(theta[j]); });
  return s;
}

template <class Real>
void Joint<Real>::backward(uint64_t row, double d_score, Real* gradient) const {
  for_each_entry(x_, row, [&](uint32_t j, float v) {
    gradient[j] += static_cast<Real>(d_score * static_cast<double>(v));
  });
}

template class Joint<float>;
template class Joint<double>;

}  // namespace selfnorm
