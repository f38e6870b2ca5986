#include "model/parameters.h"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>

#include "math/parallel.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// The bfloat16 after s > 0.
float next_bfloat16(float s) { return std::bit_cast<float>((std::bit_cast<uint32_t>(s) | 0xFFFFu) + 1); }

// The least bfloat16 s >= 2^-126 with 127 s >= largest > 0.
float scale_of(float largest) {
  float s = std::max(std::bit_cast<float>(std::bit_cast<uint32_t>(largest / 127) & 0xFFFF0000u), FLT_MIN);
  while (127.0 * s < largest) s = next_bfloat16(s);
  return s;
}

bool is_multiple_of(std::span<const float> row, float scale) {
  return std::all_of(row.begin(), row.end(), [scale](float w) {
    const double q = static_cast<double>(w) / scale;
    return q == std::nearbyint(q);
  });
}

}  // namespace

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

Int8Rows to_int8(std::span<const float> weight, size_t columns) {
  Int8Rows out;
  out.values.reserve(weight.size());
  for (size_t begin = 0; begin < weight.size(); begin += columns) {
    const auto row = weight.subspan(begin, columns);
    float largest = 0;
    for (const float w : row) largest = std::max(largest, std::fabs(w));
    float scale = largest == 0 ? 0 : scale_of(largest);
    if (scale > 0 && is_multiple_of(row, next_bfloat16(scale))) scale = next_bfloat16(scale);
    out.scale.push_back(scale);
    for (const float w : row) {
      const double q = scale == 0 ? 0 : std::nearbyint(static_cast<double>(w) / scale);
      out.values.push_back(static_cast<int8_t>(std::clamp(q, -127.0, 127.0)));
    }
  }
  return out;
}

void round_to_int8(std::span<float> weight, size_t columns) {
  const Int8Rows stored = to_int8(weight, columns);
  for (size_t i = 0; i < weight.size(); ++i)
    weight[i] = stored.scale[i / columns] * static_cast<float>(stored.values[i]);
}

}  // namespace selfnorm
