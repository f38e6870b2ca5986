#include "model/energy/mlp_jet.h"

#include <algorithm>

#include "math/kernels.h"

namespace selfnorm {

MlpJet::MlpJet(const MlpShape& shape, size_t orders) : orders_(orders) {
  size_t most = panel_stride(shape.features());
  for (size_t l = 0; l <= shape.layers.size(); ++l) {
    const size_t stride = panel_stride(shape.width(l)), matrix = kJetRows * stride;
    layers_.push_back({AlignedFloats(orders * matrix), AlignedFloats(l == 0 ? 0 : 2 * matrix),
                       AlignedFloats(l == 0 ? 0 : 3 * matrix), stride});
    most = std::max(most, stride);
  }
  phase_ = AlignedFloats(2 * kJetRows * panel_stride(shape.fourier));
  start_ = AlignedFloats(whole_panels(shape.width(1)));
  delta_ = AlignedFloats(orders * kJetRows * most);
  local_ = AlignedFloats(orders * kJetRows * most);
}

void MlpJet::input(const MlpWeights& weights, const Points& x, const Points& v) {
  const uint32_t d = weights.shape.dimension, n = weights.shape.fourier;
  const size_t stride = layers_[0].stride, phase_stride = panel_stride(n);
  float* a = layers_[0].a.data();
  std::fill_n(a, orders_ * rows_ * stride, 0.0f);
  for (size_t i = 0; i < rows_; ++i) {
    std::copy_n(x.row(i).data(), d, a + i * stride);
    std::copy_n(v.row(i).data(), d, a + (rows_ + i) * stride);
  }
  if (n == 0) return;
  panel_product(2 * rows_, a, stride, weights.frequencies, phase_.data(), phase_stride);
  for (size_t i = 0; i < rows_; ++i) {
    float* cosine = a + i * stride + d;
    float* sine = cosine + n;
    cos_sin(n, phase_.data() + i * phase_stride, cosine, sine);
    const float* rate = phase_.data() + (rows_ + i) * phase_stride;
    const size_t next = rows_ * stride;
    for (uint32_t j = 0; j < n; ++j) {
      cosine[next + j] = -sine[j] * rate[j];
      sine[next + j] = cosine[j] * rate[j];
      if (orders_ == 2) continue;
      cosine[2 * next + j] = -cosine[j] * rate[j] * rate[j];
      sine[2 * next + j] = -sine[j] * rate[j] * rate[j];
    }
  }
}

void MlpJet::activate_orders(Activation f, Layer& layer, size_t columns) {
  const size_t matrix = rows_ * layer.stride;
  float *a = layer.a.data(), *z = layer.z.data(), *d = layer.slope.data();
  std::copy_n(a + matrix, (orders_ - 1) * matrix, z);
  activate_jet(f, {rows_, columns, layer.stride}, a, {a, d, d + matrix, d + 2 * matrix});
  for (size_t e = 0; e < matrix; ++e) {
    a[matrix + e] = d[e] * z[e];
    if (orders_ == 3) a[2 * matrix + e] = d[matrix + e] * z[e] * z[e] + d[e] * z[matrix + e];
  }
}

void MlpJet::forward(const MlpWeights& weights, const MlpRows& rows, const Points& v, double* first,
                     double* second) {
  const MlpShape& shape = weights.shape;
  at_ = rows;
  rows_ = rows.x.rows;
  input(weights, rows.x, v);
  for (size_t l = 1; l < layers_.size(); ++l) {
    const Layer& in = layers_[l - 1];
    Layer& out = layers_[l];
    const size_t below = rows_ * out.stride;
    const Panels& w = weights.layers[l - 1].forward;
    if (l == 1)
      weights.first_layer(rows, in.a.data(), start_.data(), out.a.data());
    else
      panel_product(rows_, in.a.data(), in.stride, w, out.a.data(), out.stride);
    std::fill_n(out.a.data() + below, (orders_ - 1) * below, 0.0f);
    add_panel_product((orders_ - 1) * rows_, in.a.data() + rows_ * in.stride, in.stride, w,
                      out.a.data() + below, out.stride);
    activate_orders(shape.activation, out, shape.width(l));
    if (shape.layers[l - 1].is_residual)
      add_scaled(1.0f, in.a.data(), out.a.data(), orders_ * rows_ * out.stride);
  }
  const Layer& top = layers_.back();
  for (size_t i = 0; i < rows_; ++i) {
    const float* row = top.a.data() + (rows_ + i) * top.stride;
    first[i] = dot(weights.output, row, shape.width());
    if (orders_ == 3) second[i] = dot(weights.output, row + rows_ * top.stride, shape.width());
  }
}

void MlpJet::local_orders(const Layer& layer, size_t columns) {
  const size_t matrix = rows_ * layer.stride;
  const float *z1 = layer.z.data(), *z2 = z1 + matrix;
  const float *d1 = layer.slope.data(), *d2 = d1 + matrix, *d3 = d2 + matrix;
  const float* g = delta_.data();
  float* local = local_.data();
  for (size_t i = 0; i < rows_; ++i) {
    for (size_t e = i * layer.stride; e < i * layer.stride + columns; ++e) {
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
  }
}

// With k = cos p, q = sin p and r = p':
//     dp  = -q k^ - r k k^' + r^2 q k^'' + k q^ - r q q^' - r^2 k q^''     (x^: the derivative by x)
//     dp' = -q k^' - 2 r k k^'' + k q^' - 2 r q q^''.
void MlpJet::phase_gradient(const MlpWeights& weights, MlpGradient& gradient) {
  const MlpShape& shape = weights.shape;
  const uint32_t n = shape.fourier;
  const size_t stride = panel_stride(size_t{2} * n), phase_stride = panel_stride(n);
  const Layer& in = layers_[0];
  panel_product(orders_ * rows_, local_.data(), layers_[1].stride, weights.layers[0].backward, delta_.data(),
                stride);
  for (size_t i = 0; i < rows_; ++i) {
    const float* k = in.a.data() + i * in.stride + shape.dimension;
    const float* q = k + n;
    const float* r = phase_.data() + (rows_ + i) * phase_stride;
    const float* d0 = delta_.data() + i * stride;
    const float* d1 = d0 + rows_ * stride;
    const float* d2 = d1 + rows_ * stride;
    float* dp = local_.data() + i * phase_stride;
    float* dr = dp + rows_ * phase_stride;
    for (uint32_t j = 0; j < n; ++j) {
      float own = k[j] * d0[n + j] - q[j] * d0[j] - r[j] * (k[j] * d1[j] + q[j] * d1[n + j]);
      float rate = k[j] * d1[n + j] - q[j] * d1[j];
      if (orders_ == 3) {
        own += r[j] * r[j] * (q[j] * d2[j] - k[j] * d2[n + j]);
        rate -= 2 * r[j] * (k[j] * d2[j] + q[j] * d2[n + j]);
      }
      dp[j] = own;
      dr[j] = rate;
    }
  }
  add_transposed_product(shape.dimension, n, 2 * rows_, in.a.data(), in.stride, local_.data(), phase_stride,
                         gradient.frequencies(), phase_stride);
}

void MlpJet::backward(const MlpWeights& weights, const double* d_first, const double* d_second,
                      MlpGradient& gradient) {
  const MlpShape& shape = weights.shape;
  const Layer& top = layers_.back();
  std::fill_n(delta_.data(), orders_ * rows_ * top.stride, 0.0f);
  for (size_t order = 1; order < orders_; ++order) {
    const double* d = order == 1 ? d_first : d_second;
    for (size_t i = 0; i < rows_; ++i) {
      const size_t at = (order * rows_ + i) * top.stride;
      add_scaled(static_cast<float>(d[i]), weights.output, delta_.data() + at, shape.width());
      add_scaled(static_cast<float>(d[i]), top.a.data() + at, gradient.output(), shape.width());
    }
  }
  const size_t all = orders_ * rows_;
  for (size_t l = shape.layers.size(); l > 0; --l) {
    const MlpLayer& layer = shape.layers[l - 1];
    const Layer& in = layers_[l - 1];
    const size_t stride = layers_[l].stride;
    local_orders(layers_[l], layer.out);
    add_transposed_product(layer.in, layer.out, all, in.a.data(), in.stride, local_.data(), stride,
                           gradient.weight(l - 1), stride);
    const bool by_context = l == 1 && at_.row != nullptr;
    for (size_t i = 0; i < rows_; ++i)
      add_scaled(1.0f, local_.data() + i * stride,
                 by_context ? gradient.context + size_t{at_.row[i]} * layer.out : gradient.bias(l - 1),
                 layer.out);
    if (l == 1) break;
    if (layer.is_residual)
      add_panel_product(all, local_.data(), stride, weights.layers[l - 1].backward, delta_.data(), in.stride);
    else
      panel_product(all, local_.data(), stride, weights.layers[l - 1].backward, delta_.data(), in.stride);
  }
  if (shape.fourier > 0) phase_gradient(weights, gradient);
}

}  // namespace selfnorm
