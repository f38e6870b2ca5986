#include "model/parameters.h"

#include <algorithm>
#include <cmath>

#include "math/parallel.h"
#include "selfnorm/error.h"

namespace selfnorm {

template <class Real>
void store_parameters(std::span<const Real> theta, const Scaling& scaling, ModelFile& model) {
  const size_t d = model.features;
  const size_t k = model.family == Family::Joint ? 1 : model.classes;
  SELFNORM_CHECK(theta.size() == (model.family == Family::Joint ? d : (d + 1) * k));
  model.weight.resize(k * d);
  parallel_ranges(k, 64, [&](size_t begin, size_t end) {
    for (size_t j = 0; j < d; ++j) {
      const double factor = scaling.active() ? scaling.inverse[j] : 1;
      for (size_t c = begin; c < end; ++c)
        model.weight[c * d + j] = static_cast<float>(static_cast<double>(theta[j * k + c]) * factor);
    }
  });
  if (model.family == Family::Joint) return;
  model.bias.resize(k);
  for (size_t c = 0; c < k; ++c) {
    double bias = static_cast<double>(theta[d * k + c]);
    for (size_t j = 0; j < d && scaling.active(); ++j)
      bias -= static_cast<double>(theta[j * k + c]) * scaling.inverse[j] * scaling.mean[j];
    model.bias[c] = static_cast<float>(bias);
  }
}

template <class Real>
std::vector<Real> parameters_of(const ModelFile& model) {
  const size_t d = model.features;
  if (model.family == Family::Joint) return {model.weight.begin(), model.weight.end()};
  const size_t k = model.classes;
  std::vector<Real> theta((d + 1) * k);
  parallel_ranges(d, 64, [&](size_t begin, size_t end) {
    for (size_t c = 0; c < k; ++c) {
      for (size_t j = begin; j < end; ++j) theta[j * k + c] = static_cast<Real>(model.weight[c * d + j]);
    }
  });
  for (size_t c = 0; c < k; ++c) theta[d * k + c] = static_cast<Real>(model.bias[c]);
  return theta;
}

template void store_parameters(std::span<const float>, const Scaling&, ModelFile&);
template void store_parameters(std::span<const double>, const Scaling&, ModelFile&);
template std::vector<float> parameters_of(const ModelFile&);
template std::vector<double> parameters_of(const ModelFile&);

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
