#include "model/energy/mlp_tile.h"

#include <algorithm>

#include "math/kernels.h"
#include "math/parallel.h"

namespace selfnorm {
namespace {

size_t largest_stride(const MlpShape& shape) {
  size_t most = panel_stride(shape.features());
  for (const MlpLayer& layer : shape.layers) most = std::max(most, panel_stride(layer.out));
  return most;
}

constexpr size_t kColumns = 32, kGrain = 8192;

}  // namespace

MlpTile::MlpTile(const MlpShape& shape) {
  size_t size = 0;
  for (size_t l = 0; l <= shape.layers.size(); ++l) {
    const size_t matrix = kTileRows * panel_stride(shape.width(l));
    value_.push_back(size);
    size += matrix;
    slope_.push_back(size);
    if (l > 0) size += matrix;
  }
  start_ = size;
  phase_ = size + whole_panels(shape.width(1));
  memory_ = AlignedFloats(phase_ + (shape.fourier > 0 ? kTileRows * panel_stride(shape.fourier) : 0));
}

MlpTile::Deltas::Deltas(const MlpShape& shape)
    : delta(kTileRows * largest_stride(shape)),
      local(kTileRows * largest_stride(shape)),
      input(kTileRows * panel_stride(shape.dimension)) {}

void MlpTile::forward(const MlpWeights& weights, const MlpRows& rows, bool keeps_slopes, double* s) {
  const MlpShape& shape = weights.shape;
  const Points& x = rows.x;
  at_ = rows;
  rows_ = x.rows;
  float* a = memory_.data();
  size_t stride = panel_stride(shape.features());
  for (size_t i = 0; i < rows_; ++i) std::copy_n(x.row(i).data(), shape.dimension, a + i * stride);
  if (shape.fourier > 0) {
    const size_t phase_stride = panel_stride(shape.fourier);
    float* phase = memory_.data() + phase_;
    panel_product(rows_, a, stride, weights.frequencies, phase, phase_stride);
    for (size_t i = 0; i < rows_; ++i) {
      float* row = a + i * stride + shape.dimension;
      cos_sin(shape.fourier, phase + i * phase_stride, row, row + shape.fourier);
    }
  }
  for (size_t l = 1; l <= shape.layers.size(); ++l) {
    const MlpLayer& layer = shape.layers[l - 1];
    const size_t out_stride = panel_stride(layer.out);
    float* z = memory_.data() + value_[l];
    if (l == 1)
      weights.first_layer(rows, a, memory_.data() + start_, z);
    else
      panel_product(rows_, a, stride, weights.layers[l - 1].forward, z, out_stride);
    activate(shape.activation, {rows_, layer.out, out_stride}, z, z,
             keeps_slopes ? memory_.data() + slope_[l] : nullptr);
    if (layer.is_residual)
      for (size_t i = 0; i < rows_; ++i) add_scaled(1.0f, a + i * stride, z + i * out_stride, layer.out);
    a = z;
    stride = out_stride;
  }
  for (size_t i = 0; i < rows_; ++i) s[i] = dot(weights.output, a + i * stride, shape.width());
}

void MlpTile::propagate(const MlpWeights& weights, std::span<const double> d, Deltas& deltas,
                        MlpGradient* gradient) const {
  const MlpShape& shape = weights.shape;
  float* delta = deltas.delta.data();
  float* local = deltas.local.data();
  for (size_t l = shape.layers.size(); l > 0; --l) {
    const MlpLayer& layer = shape.layers[l - 1];
    const size_t stride = panel_stride(layer.out), in_stride = panel_stride(layer.in);
    if (l == shape.layers.size()) {
      for (size_t i = 0; i < rows_; ++i) {
        const float d_i = d.empty() ? 1.0f : static_cast<float>(d[i]);
        for (size_t j = 0; j < layer.out; ++j) delta[i * stride + j] = d_i * weights.output[j];
        if (gradient) add_scaled(d_i, value(l) + i * stride, gradient->output(), layer.out);
      }
    }
    if (l == 1)
      first_local({rows_, layer.out, stride}, deltas, gradient);
    else
      multiply_rows({rows_, layer.out, stride}, delta, memory_.data() + slope_[l], local,
                    gradient ? gradient->bias(l - 1) : nullptr);
    if (gradient)
      add_transposed_product(layer.in, layer.out, rows_, value(l - 1), in_stride, local, stride,
                             gradient->weight(l - 1), stride);
    if (l == 1) break;
    if (layer.is_residual)
      add_panel_product(rows_, local, stride, weights.layers[l - 1].backward, delta, in_stride);
    else
      panel_product(rows_, local, stride, weights.layers[l - 1].backward, delta, in_stride);
  }
}

void MlpTile::first_local(const RowBlock& block, Deltas& deltas, MlpGradient* gradient) const {
  const float *delta = deltas.delta.data(), *slope = memory_.data() + slope_[1];
  float* local = deltas.local.data();
  if (gradient == nullptr || at_.row == nullptr)
    return multiply_rows(block, delta, slope, local, gradient ? gradient->bias(0) : nullptr);
  for_contexts(at_, [&](size_t begin, size_t end, size_t r) {
    const size_t at = begin * block.stride;
    multiply_rows({end - begin, block.columns, block.stride}, delta + at, slope + at, local + at,
                  gradient->context + r * block.columns);
  });
}

void MlpTile::phase_gradient(const MlpWeights& weights, Deltas& deltas) const {
  const MlpShape& shape = weights.shape;
  const uint32_t n = shape.fourier;
  const size_t stride = panel_stride(size_t{2} * n), phase_stride = panel_stride(n);
  panel_product(rows_, deltas.local.data(), panel_stride(shape.width(1)), weights.layers[0].backward,
                deltas.delta.data(), stride);
  for (size_t i = 0; i < rows_; ++i) {
    const float* cosine = value(0) + i * panel_stride(shape.features()) + shape.dimension;
    const float* sine = cosine + n;
    const float* d_cosine = deltas.delta.data() + i * stride;
    const float* d_sine = d_cosine + n;
    float* g = deltas.local.data() + i * phase_stride;
    for (uint32_t j = 0; j < n; ++j) g[j] = cosine[j] * d_sine[j] - sine[j] * d_cosine[j];
  }
}

void MlpTile::backward(const MlpWeights& weights, std::span<const double> d, Deltas& deltas,
                       MlpGradient& gradient) const {
  const MlpShape& shape = weights.shape;
  propagate(weights, d, deltas, &gradient);
  if (shape.fourier == 0) return;
  phase_gradient(weights, deltas);
  const size_t stride = panel_stride(shape.fourier);
  add_transposed_product(shape.dimension, shape.fourier, rows_, value(0), panel_stride(shape.features()),
                         deltas.local.data(), stride, gradient.frequencies(), stride);
}

void MlpTile::input_gradient(const MlpWeights& weights, Deltas& deltas, float* dx) const {
  const MlpShape& shape = weights.shape;
  const size_t stride = panel_stride(shape.dimension);
  propagate(weights, {}, deltas, nullptr);
  float* sum = deltas.input.data();
  panel_product(rows_, deltas.local.data(), panel_stride(shape.width(1)), weights.from_inputs, sum, stride);
  if (shape.fourier > 0) {
    phase_gradient(weights, deltas);
    add_panel_product(rows_, deltas.local.data(), panel_stride(shape.fourier), weights.from_phases, sum,
                      stride);
  }
  for (size_t i = 0; i < rows_; ++i) std::copy_n(sum + i * stride, shape.dimension, dx + i * shape.dimension);
}

MlpGradient::MlpGradient(const MlpShape& shape) {
  size_t size = shape.dimension * panel_stride(shape.fourier);
  for (const MlpLayer& layer : shape.layers) {
    place_.push_back(size);
    size += layer.in * panel_stride(layer.out);
    bias_.push_back(size);
    size += whole_panels(layer.out);
  }
  output_ = size;
  values_ = AlignedFloats(size + whole_panels(shape.width()));
}

void MlpGradient::clear() { std::fill_n(values_.data(), values_.size(), 0.0f); }

void MlpGradient::add_contexts_to_bias(const MlpShape& shape, size_t begin, size_t end) {
  const size_t width = shape.width(1);
  for (size_t r = begin; r < end; ++r) add_scaled(1.0f, context + r * width, bias(0), width);
}

void MlpGradient::add(const MlpShape& shape, std::span<MlpGradient> parts, std::span<float> total) {
  if (parts.empty()) return;
  MlpGradient& sum = parts[0];
  parallel_ranges(sum.values_.size(), kGrain, [&](size_t begin, size_t end) {
    for (const MlpGradient& part : parts.subspan(1))
      add_scaled(1.0f, part.values_.data() + begin, sum.values_.data() + begin, end - begin);
  });
  add_transposed(shape.dimension, shape.fourier, sum.frequencies(), panel_stride(shape.fourier),
                 total.data());
  for (size_t l = 0; l < shape.layers.size(); ++l) {
    const MlpLayer& layer = shape.layers[l];
    parallel_ranges(layer.out, kColumns, [&](size_t begin, size_t end) {
      add_transposed(layer.in, end - begin, sum.weight(l) + begin, panel_stride(layer.out),
                     total.data() + layer.weight + begin * layer.in);
    });
    add_scaled(1.0f, sum.bias(l), total.data() + layer.bias, layer.out);
  }
  add_scaled(1.0f, sum.output(), total.data() + shape.output, shape.width());
}

}  // namespace selfnorm
