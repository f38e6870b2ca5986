#include "network/tile.h"

#include <algorithm>

#include "math/kernels.h"

namespace selfnorm {

void NetworkTile::reserve(size_t rows) {
  if (rows <= capacity_) return;
  capacity_ = rows;
  const NetworkShape& shape = network_.shape;
  const bool copies_x = shape.fourier > 0 || orders_ > 1;
  // Twice: to know how much there is, and to cut it.
  for (size_t size = 0, round = 0; round < 2; ++round) {
    if (round == 1) memory_ = AlignedFloats(size);
    size = 0;
    const auto take = [&](size_t floats) {
      float* out = floats > 0 && round == 1 ? memory_.data() + size : nullptr;
      size += floats;
      return out;
    };
    layers_.clear();
    for (size_t l = 0; l <= shape.layers.size(); ++l) {
      const size_t stride = panel_stride(shape.width(l)), matrix = rows * stride;
      if (l == 0) {
        layers_.push_back({take(copies_x ? orders_ * matrix : 0), nullptr, nullptr, stride});
      } else if (!goes_back_ && l > 2) {
        layers_.push_back({layers_[l - 2].a, nullptr, nullptr, stride});
      } else if (!goes_back_) {
        layers_.push_back({take(rows * shape.largest_stride), nullptr, nullptr, stride});
      } else {
        float *a = take(orders_ * matrix), *z = take((orders_ - 1) * matrix);
        const size_t slopes = orders_ > 1 ? 3 : shape.layers[l - 1].is_activated;
        layers_.push_back({a, z, take(slopes * matrix), stride});
      }
    }
    start_ = take(whole_panels(shape.width(1)));
    phase_ = take(shape.fourier > 0 ? std::min<size_t>(orders_, 2) * rows * panel_stride(shape.fourier) : 0);
    first_ = take(shape.levels.empty() || !goes_back_ ? 0 : rows * panel_stride(shape.width(1)));
  }
}

void NetworkTile::input(const Points& v) {
  const NetworkShape& shape = network_.shape;
  const uint32_t d = shape.inputs, n = shape.fourier;
  const size_t stride = panel_stride(shape.features()), next = rows_ * stride;
  float* a = layers_[0].a;
  layers_[0].stride = stride;
  if (orders_ > 1) std::fill_n(a, orders_ * next, 0.0f);
  for (size_t i = 0; i < rows_; ++i) {
    std::copy_n(at_.x.row(i).data(), d, a + i * stride);
    if (orders_ > 1) std::copy_n(v.row(i).data(), d, a + next + i * stride);
  }
  if (n == 0) return;
  const size_t phase_stride = panel_stride(n);
  panel_product(std::min<size_t>(orders_, 2) * rows_, a, stride, network_.frequencies, phase_, phase_stride);
  for (size_t i = 0; i < rows_; ++i) {
    float* cosine = a + i * stride + d;
    float* sine = cosine + n;
    cos_sin(n, phase_ + i * phase_stride, cosine, sine);
    if (orders_ == 1) continue;
    const float* rate = phase_ + (rows_ + i) * phase_stride;
    for (uint32_t j = 0; j < n; ++j) {
      cosine[next + j] = -sine[j] * rate[j];
      sine[next + j] = cosine[j] * rate[j];
      if (orders_ == 2) continue;
      cosine[2 * next + j] = -cosine[j] * rate[j] * rate[j];
      sine[2 * next + j] = -sine[j] * rate[j] * rate[j];
    }
  }
}

void NetworkTile::activate_orders(const Layer& layer, const NetworkLayer& shape) const {
  const RowBlock block{rows_, shape.out, layer.stride};
  const Activation f = network_.shape.activation;
  float *a = layer.a, *z = layer.z, *d = layer.slope;
  if (orders_ == 1) return activate(f, block, a, a, d);
  const size_t matrix = rows_ * layer.stride;
  std::copy_n(a + matrix, (orders_ - 1) * matrix, z);
  activate_jet(f, block, a, {a, d, d + matrix, d + 2 * matrix});
  for (size_t e = 0; e < matrix; ++e) {
    a[matrix + e] = d[e] * z[e];
    if (orders_ == 3) a[2 * matrix + e] = d[matrix + e] * z[e] * z[e] + d[e] * z[matrix + e];
  }
}

void NetworkTile::forward(const NetworkRows& rows, const Points& v) {
  const NetworkShape& shape = network_.shape;
  reserve(rows.x.rows);
  at_ = rows;
  rows_ = rows.x.rows;
  const bool copies_x = shape.fourier > 0 || orders_ > 1;
  if (copies_x) input(v);
  const float* a = copies_x ? layers_[0].a : rows.x.data;
  size_t stride = copies_x ? layers_[0].stride : rows.x.columns;
  for (size_t l = 1; l < layers_.size(); ++l) {
    const NetworkLayer& layer = shape.layers[l - 1];
    const Layer& out = layers_[l];
    const Panels& w = network_.layers[l - 1].forward;
    if (l == 1)
      network_.first_layer(rows, a, stride, start_, out.a);
    else
      panel_product(rows_, a, stride, w, out.a, out.stride);
    if (orders_ > 1) {
      float* jet = out.a + rows_ * out.stride;
      std::fill_n(jet, (orders_ - 1) * rows_ * out.stride, 0.0f);
      add_panel_product((orders_ - 1) * rows_, a + rows_ * stride, stride, w, jet, out.stride);
    }
    if (layer.is_activated) activate_orders(out, layer);
    if (layer.is_residual)
      for (size_t i = 0; i < orders_ * rows_; ++i)
        add_scaled(1.0f, a + i * stride, out.a + i * out.stride, layer.out);
    a = out.a;
    stride = out.stride;
  }
}

void NetworkTile::outputs(float* out) const {
  const Layer& top = layers_.back();
  const size_t width = network_.shape.width();
  for (size_t i = 0; i < rows_; ++i) std::copy_n(top.a + i * top.stride, width, out + i * width);
}

void NetworkTile::derivative(size_t order, double* s) const {
  const Layer& top = layers_.back();
  for (size_t i = 0; i < rows_; ++i)
    s[i] = dot(network_.output(), top.a + (order * rows_ + i) * top.stride, network_.shape.width());
}

void NetworkTile::local_values(size_t l, const float* delta, float* local, NetworkGradient* gradient) const {
  const NetworkLayer& layer = network_.shape.layers[l - 1];
  const RowBlock block{rows_, layer.out, layers_[l].stride};
  float* bias = gradient ? gradient->bias(l - 1) : nullptr;
  const float* slope = layers_[l].slope;
  if (!layer.is_activated) {
    for (size_t i = 0; i < rows_; ++i) {
      std::copy_n(delta + i * block.stride, layer.out, local + i * block.stride);
      if (bias) add_scaled(1.0f, local + i * block.stride, bias, layer.out);
    }
  } else if (l == 1 && bias && at_.row) {
    at_.for_contexts([&](size_t begin, size_t end, size_t r) {
      const size_t at = begin * block.stride;
      multiply_rows({end - begin, block.columns, block.stride}, delta + at, slope + at, local + at,
                    gradient->context + r * block.columns);
    });
  } else {
    multiply_rows(block, delta, slope, local, bias);
  }
}

void NetworkTile::local_orders(size_t l, const float* g, float* local, NetworkGradient* gradient) const {
  const Layer& layer = layers_[l];
  const size_t stride = layer.stride, matrix = rows_ * stride, columns = network_.shape.width(l);
  const float *z1 = layer.z, *z2 = z1 + matrix;
  const float *d1 = layer.slope, *d2 = d1 + matrix, *d3 = d2 + matrix;
  for (size_t i = 0; i < rows_; ++i) {
    for (size_t e = i * stride; e < i * stride + columns; ++e) {
      const float g1 = g[matrix + e];
      float d = d1[e] * g[e] + d2[e] * z1[e] * g1;
      float own = d1[e] * g1;
      if (orders_ == 3) {
        const float g2 = g[2 * matrix + e];
        d += (d3[e] * z1[e] * z1[e] + d2[e] * z2[e]) * g2;
        own += 2 * d2[e] * z1[e] * g2;
        local[2 * matrix + e] = d1[e] * g2;
      }
      local[e] = d;
      local[matrix + e] = own;
    }
    float* sum = l == 1 && at_.row ? gradient->context + at_.row[i] * columns : gradient->bias(l - 1);
    add_scaled(1.0f, local + i * stride, sum, columns);
  }
}

void NetworkTile::start_from_scores(const ScoreDerivatives& d, Scratch& scratch,
                                    NetworkGradient* gradient) const {
  const Layer& top = layers_.back();
  const size_t width = network_.shape.width();
  const float* w = network_.output();
  const size_t size = orders_ * rows_ * network_.shape.largest_stride;
  if (scratch.delta.size() < size) scratch = {AlignedFloats(size), AlignedFloats(size), {}};
  for (size_t order = 0; order < orders_; ++order) {
    const double* by = order == 0 ? d.value : order == 1 ? d.first : d.second;
    for (size_t i = 0; i < rows_; ++i) {
      const size_t at = (order * rows_ + i) * top.stride;
      const float factor = by ? static_cast<float>(by[i]) : 0;
      for (size_t j = 0; j < width; ++j) scratch.delta.data()[at + j] = factor * w[j];
      if (gradient && by) add_scaled(factor, top.a + at, gradient->output(), width);
    }
  }
}

// With k = cos p, q = sin p and r = p':
//     dp  = -q k^ - r k k^' + r^2 q k^'' + k q^ - r q q^' - r^2 k q^''     (x^: the derivative by x)
//     dp' = -q k^' - 2 r k k^'' + k q^' - 2 r q q^''.
void NetworkTile::phase_gradient(const float* local, Scratch& scratch) const {
  const uint32_t n = network_.shape.fourier;
  const size_t stride = panel_stride(size_t{2} * n), phase_stride = panel_stride(n);
  panel_product(orders_ * rows_, local, layers_[1].stride, network_.layers[0].backward, scratch.delta.data(),
                stride);
  for (size_t i = 0; i < rows_; ++i) {
    const float* k = layers_[0].a + i * layers_[0].stride + network_.shape.inputs;
    const float* q = k + n;
    const float* d0 = scratch.delta.data() + i * stride;
    float* dp = scratch.local.data() + i * phase_stride;
    for (uint32_t j = 0; j < n; ++j) dp[j] = k[j] * d0[n + j] - q[j] * d0[j];
    if (orders_ == 1) continue;
    const float* r = phase_ + (rows_ + i) * phase_stride;
    const float* d1 = d0 + rows_ * stride;
    const float* d2 = d1 + rows_ * stride;
    float* dr = dp + rows_ * phase_stride;
    for (uint32_t j = 0; j < n; ++j) {
      dp[j] -= r[j] * (k[j] * d1[j] + q[j] * d1[n + j]);
      dr[j] = k[j] * d1[n + j] - q[j] * d1[j];
      if (orders_ == 2) continue;
      dp[j] += r[j] * r[j] * (q[j] * d2[j] - k[j] * d2[n + j]);
      dr[j] -= 2 * r[j] * (k[j] * d2[j] + q[j] * d2[n + j]);
    }
  }
}

void NetworkTile::propagate(Scratch& scratch, NetworkGradient* gradient, float* dx) {
  const NetworkShape& shape = network_.shape;
  const bool copies_x = layers_[0].a != nullptr;
  const float* x = copies_x ? layers_[0].a : at_.x.data;
  const size_t x_stride = copies_x ? layers_[0].stride : at_.x.columns;
  const size_t all = orders_ * rows_;
  float* delta = scratch.delta.data();
  float* local = scratch.local.data();
  for (size_t l = shape.layers.size(); l > 0; --l) {
    const NetworkLayer& layer = shape.layers[l - 1];
    const Layer& below = layers_[l - 1];
    const size_t stride = layers_[l].stride;
    if (l == 1 && first_ != nullptr) local = first_;
    if (orders_ == 1)
      local_values(l, delta, local, gradient);
    else
      local_orders(l, delta, local, gradient);
    if (gradient)
      add_transposed_product(layer.in, layer.out, all, l == 1 ? x : below.a, l == 1 ? x_stride : below.stride,
                             local, stride, gradient->weight(l - 1), stride);
    if (l == 1) break;
    if (layer.is_residual)
      add_panel_product(all, local, stride, network_.layers[l - 1].backward, delta, below.stride);
    else
      panel_product(all, local, stride, network_.layers[l - 1].backward, delta, below.stride);
  }
  const size_t d = shape.inputs, dx_stride = panel_stride(d), phase_stride = panel_stride(shape.fourier);
  if (dx && scratch.input.size() < rows_ * dx_stride) scratch.input = AlignedFloats(rows_ * dx_stride);
  if (dx)
    panel_product(rows_, local, layers_[1].stride, network_.from_inputs, scratch.input.data(), dx_stride);
  if (shape.fourier > 0) {
    phase_gradient(local, scratch);
    const float* g = scratch.local.data();
    if (gradient)
      add_transposed_product(d, shape.fourier, std::min<size_t>(orders_, 2) * rows_, x, x_stride, g,
                             phase_stride, gradient->frequencies(), phase_stride);
    if (dx) add_panel_product(rows_, g, phase_stride, network_.from_phases, scratch.input.data(), dx_stride);
  }
  for (size_t i = 0; dx && i < rows_; ++i) std::copy_n(scratch.input.data() + i * dx_stride, d, dx + i * d);
}

void NetworkTile::backward(const ScoreDerivatives& d, Scratch& scratch, NetworkGradient& gradient) {
  start_from_scores(d, scratch, &gradient);
  propagate(scratch, &gradient, nullptr);
}

void NetworkTile::backward(const float* d, Scratch& scratch, NetworkGradient& gradient, float* dx) {
  const size_t width = network_.shape.width(), size = rows_ * network_.shape.largest_stride;
  if (scratch.delta.size() < size) scratch = {AlignedFloats(size), AlignedFloats(size), {}};
  for (size_t i = 0; i < rows_; ++i)
    std::copy_n(d + i * width, width, scratch.delta.data() + i * layers_.back().stride);
  propagate(scratch, &gradient, dx);
}

void NetworkTile::input_gradient(Scratch& scratch, float* dx) {
  const std::vector<double> ones(rows_, 1.0);
  start_from_scores({.value = ones.data()}, scratch, nullptr);
  propagate(scratch, nullptr, dx);
}

void NetworkTile::first_derivative(float* out) const {
  const size_t width = network_.shape.width(1);
  for (size_t i = 0; i < rows_; ++i) std::copy_n(first_ + i * layers_[1].stride, width, out + i * width);
}

}  // namespace selfnorm
