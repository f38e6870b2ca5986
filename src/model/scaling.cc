#include "model/scaling.h"

#include <algorithm>
#include <cmath>

#include "math/parallel.h"

namespace selfnorm {
namespace {

constexpr double kSpike = 0.01;

}  // namespace

Scaling fit_scaling(const DenseMatrix& x) {
  const size_t d = x.columns;
  const double n = static_cast<double>(x.rows);
  Scaling scaling;
  scaling.mean.assign(d, 0);
  std::vector<double> variance(d, 0), largest(d, 0);
  // Columns in parallel strips, rows in order: the same bits for any number of threads.
  parallel_ranges(d, 64, [&](size_t begin, size_t end) {
    for (uint64_t i = 0; i < x.rows; ++i) {
      const auto row = x.row(i);
      for (size_t j = begin; j < end; ++j) scaling.mean[j] += static_cast<double>(row[j]);
    }
    for (size_t j = begin; j < end; ++j) scaling.mean[j] /= n;
    for (uint64_t i = 0; i < x.rows; ++i) {
      const auto row = x.row(i);
      for (size_t j = begin; j < end; ++j) {
        const double e = static_cast<double>(row[j]) - scaling.mean[j];
        variance[j] += e * e / n;
        largest[j] = std::max(largest[j], std::abs(e));
      }
    }
  });
  scaling.inverse.resize(d);
  for (size_t j = 0; j < d; ++j) {
    const double std = std::max(std::sqrt(variance[j]), kSpike * largest[j]);
    scaling.inverse[j] = std > 0 ? 1 / std : 1;
  }
  return scaling;
}

void Scaling::apply(DenseMatrix& x) const {
  parallel_ranges(x.rows, 256, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      float* row = x.values.data() + i * x.columns;
      for (size_t j = 0; j < x.columns; ++j)
        row[j] = static_cast<float>((static_cast<double>(row[j]) - mean[j]) * inverse[j]);
    }
  });
}

}  // namespace selfnorm
