#include "model/network/dense_rows.h"

#include <algorithm>

#include "math/kernels.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

void add_embeddings(const DenseWeights& weights, const InputRows& x, float* z, size_t stride) {
  const size_t width = weights.shape.widths[0];
  for (size_t i = 0; i < x.rows(); ++i) {
    const uint32_t* level = x.level + i * x.categorical;
    for (size_t k = 0; k < x.categorical; ++k) {
      SELFNORM_CHECK(level[k] < weights.shape.levels[k]);
      add_scaled(1.0f, weights.embedding(k, level[k]), z + i * stride, width);
    }
  }
}

}  // namespace

void dense_forward(const DenseWeights& weights, const InputRows& x, std::span<const DenseLayerRows> layers,
                   float* out) {
  const size_t rows = x.rows(), outputs = weights.layers.back().out;
  const float* a = x.number.data;
  size_t stride = x.number.columns;
  for (size_t l = 0; l < layers.size(); ++l) {
    const DenseWeights::Layer& layer = weights.layers[l];
    const size_t out_stride = panel_stride(layer.out);
    float* z = layers[l].value;
    panel_product(rows, a, stride, layer.forward, z, out_stride);
    if (l == 0) add_embeddings(weights, x, z, out_stride);
    if (layer.is_activated)
      activate(weights.shape.activation, {rows, layer.out, out_stride}, z, z, layers[l].slope);
    a = z;
    stride = out_stride;
  }
  for (size_t i = 0; i < rows; ++i) std::copy_n(a + i * stride, outputs, out + i * outputs);
}

DenseGradient::DenseGradient(const DenseWeights& weights) {
  size_t size = 0;
  for (const DenseWeights::Layer& layer : weights.layers) {
    place_.push_back(size);
    size += layer.in * panel_stride(layer.out);
    bias_.push_back(size);
    size += whole_panels(layer.out);
  }
  values_ = AlignedFloats(size);
}

void DenseGradient::clear() { std::fill_n(values_.data(), values_.size(), 0.0f); }

void DenseGradient::add(const DenseGradient& other) {
  add_scaled(1.0f, other.values_.data(), values_.data(), values_.size());
}

void DenseGradient::add_to(const DenseWeights& weights, std::span<float> total) const {
  for (size_t l = 0; l < weights.layers.size(); ++l) {
    const DenseWeights::Layer& layer = weights.layers[l];
    add_transposed(layer.in, layer.out, values_.data() + place_[l], panel_stride(layer.out),
                   total.data() + layer.weight);
    add_scaled(1.0f, values_.data() + bias_[l], total.data() + layer.bias, layer.out);
  }
}

void DenseBlock::reserve(const DenseWeights& weights, size_t rows) {
  if (rows <= capacity_) return;
  capacity_ = rows;
  size_t size = weights.has_levels() ? rows * panel_stride(weights.layers[0].out) : 0;
  for (const DenseWeights::Layer& layer : weights.layers)
    size += rows * panel_stride(layer.out) * (layer.is_activated ? 2 : 1);
  memory_ = AlignedFloats(size);
  float* at = memory_.data();
  const auto take = [&](size_t columns) {
    float* out = at;
    at += rows * panel_stride(columns);
    return out;
  };
  layers_.clear();
  for (const DenseWeights::Layer& layer : weights.layers) {
    float* value = take(layer.out);
    layers_.push_back({value, layer.is_activated ? take(layer.out) : nullptr});
  }
  first_ = weights.has_levels() ? take(weights.layers[0].out) : nullptr;
}

void DenseBlock::forward(const DenseWeights& weights, const InputRows& x, float* out) {
  reserve(weights, x.rows());
  x_ = x;
  dense_forward(weights, x, layers_, out);
}

void DenseBlock::backward(const DenseWeights& weights, const float* d, Scratch& scratch,
                          DenseGradient& gradient, float* dx) {
  const size_t rows = x_.rows(), size = rows * weights.largest_stride;
  if (scratch.delta.size() < size) scratch = {AlignedFloats(size), AlignedFloats(size)};
  float* delta = scratch.delta.data();
  const size_t outputs = weights.layers.back().out;
  for (size_t i = 0; i < rows; ++i) std::copy_n(d + i * outputs, outputs, delta + i * panel_stride(outputs));
  for (size_t l = weights.layers.size(); l-- > 0;) {
    const DenseWeights::Layer& layer = weights.layers[l];
    const size_t stride = panel_stride(layer.out), in_stride = panel_stride(layer.in);
    float* local = l == 0 && first_ != nullptr ? first_ : scratch.local.data();
    if (layer.is_activated) {
      multiply_rows({rows, layer.out, stride}, delta, layers_[l].slope, local, gradient.bias(l));
    } else {
      for (size_t i = 0; i < rows; ++i) {
        std::copy_n(delta + i * stride, layer.out, local + i * stride);
        add_scaled(1.0f, local + i * stride, gradient.bias(l), layer.out);
      }
    }
    const float* below = l == 0 ? x_.number.data : layers_[l - 1].value;
    add_transposed_product(layer.in, layer.out, rows, below, l == 0 ? x_.number.columns : in_stride, local,
                           stride, gradient.weight(l), stride);
    if (l > 0 || dx != nullptr) panel_product(rows, local, stride, layer.backward, delta, in_stride);
  }
  if (dx == nullptr) return;
  const size_t inputs = weights.shape.inputs;
  for (size_t i = 0; i < rows; ++i) std::copy_n(delta + i * panel_stride(inputs), inputs, dx + i * inputs);
}

void DenseBlock::add_embedding_gradient(const DenseWeights& weights, std::span<float> gradient) const {
  const size_t width = weights.layers[0].out;
  for (size_t i = 0; i < x_.rows(); ++i) {
    for (size_t k = 0; k < x_.categorical; ++k) {
      const size_t level = x_.level[i * x_.categorical + k];
      add_scaled(1.0f, first_ + i * panel_stride(width),
                 gradient.data() + weights.embeddings[k] + level * width, width);
    }
  }
}

}  // namespace selfnorm
