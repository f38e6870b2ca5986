#include "network/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "math/kernels.h"
#include "math/process/shared_loop.h"
#include "math/random.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr size_t kColumns = 32, kGrain = 8192;

constexpr double kSmallest = 1e-12;  // in the place of the norm of a zero matrix
constexpr double kStill = 1e-13;     // |u - u before|^2

// |x|, and x <- x / |x|.
double normalise(std::vector<float>& x) {
  const double norm = std::sqrt(dot(x.data(), x.data(), x.size()));
  scale(static_cast<float>(1 / std::max(norm, kSmallest)), x.data(), x.size());
  return norm;
}

double square_distance(std::span<const float> x, std::span<const float> y) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double difference = static_cast<double>(x[i]) - static_cast<double>(y[i]);
    sum += difference * difference;
  }
  return sum;
}

}  // namespace

NetworkShape::NetworkShape(const NetworkPlan& plan) : NetworkPlan(plan) {
  SELFNORM_CHECK(!widths.empty());
  size_t place = size_t{fourier} * inputs;
  uint32_t in = features();
  largest_stride = panel_stride(in);
  for (const uint32_t out : widths) {
    const size_t bias = place + size_t{in} * out;
    const bool is_last = layers.size() + 1 == widths.size();
    layers.push_back(
        {in, out, !is_last || activates_output, is_residual && !layers.empty() && in == out, place, bias});
    place = bias + out;
    in = out;
    largest_stride = std::max(largest_stride, panel_stride(out));
  }
  output = place;
  if (has_score) place += in;
  for (const uint32_t n : levels) {
    embeddings.push_back(place);
    place += size_t{n} * widths[0];
  }
  parameters = place;
}

std::vector<NetworkTensor> NetworkShape::tensors() const {
  std::vector<NetworkTensor> out;
  const auto add = [&](std::string name, std::vector<uint64_t> sizes, size_t begin) {
    size_t count = 1;
    for (const uint64_t size : sizes) count *= size;
    out.push_back({std::move(name), std::move(sizes), begin, count});
  };
  if (fourier > 0) add("fourier.weight", {fourier, inputs}, 0);
  for (size_t l = 0; l < layers.size(); ++l) {
    add(fmt::format("layer{}.weight", l), {layers[l].out, layers[l].in}, layers[l].weight);
    add(fmt::format("layer{}.bias", l), {layers[l].out}, layers[l].bias);
  }
  if (has_score) add("output.weight", {width()}, output);
  for (size_t k = 0; k < levels.size(); ++k)
    add(fmt::format("embedding{}.weight", k), {levels[k], widths[0]}, embeddings[k]);
  return out;
}

NetworkRows NetworkRows::slice(uint64_t begin, uint64_t end) const {
  NetworkRows out = *this;
  out.x = x.slice(begin, end);
  if (row != nullptr) out.row += begin;
  if (level != nullptr) out.level += begin * categorical;
  return out;
}

Network::Network(const NetworkPlan& plan)
    : shape(plan),
      theta(shape.parameters),
      frequencies(shape.inputs, shape.fourier),
      from_phases(shape.fourier, shape.inputs),
      from_inputs(shape.widths[0], shape.inputs) {
  for (size_t l = 0; l < shape.layers.size(); ++l) {
    const NetworkLayer& layer = shape.layers[l];
    layers.push_back({Panels(layer.in, layer.out), Panels(layer.out, l == 0 ? 2 * shape.fourier : layer.in)});
    if (shape.is_spectral) spectral.emplace_back(layer.out, layer.in);
  }
}

void Network::draw(RandomStream& random, size_t begin, size_t count, double deviation) {
  for (size_t i = 0; i < count; ++i) theta[begin + i] = static_cast<float>(deviation * random.normal());
}

void Network::pack() {
  parallel_units(spectral.size(), [&](size_t l) {
    spectral[l].measure(std::span(theta).subspan(shape.layers[l].weight, shape.layers[l].size()));
  });
  frequencies.pack_transposed(theta.data(), shape.inputs, 1);
  from_phases.pack(theta.data(), shape.inputs, 1);
  parallel_units(2 * layers.size(), [&](size_t unit) {
    const size_t l = unit / 2;
    const NetworkLayer& layer = shape.layers[l];
    const float* w = theta.data() + layer.weight;
    const float factor = spectral.empty() ? 1 : static_cast<float>(1 / spectral[l].sigma());
    if (unit % 2 == 0) {
      layers[l].forward.pack_transposed(w, layer.in, factor);
      layers[l].forward.set_start(theta.data() + layer.bias);
    } else {
      layers[l].backward.pack(w + (l == 0 ? shape.inputs : 0), layer.in, factor);
      if (l == 0) from_inputs.pack(w, layer.in, factor);
    }
  });
}

void Network::first_layer(const NetworkRows& rows, const float* a, size_t stride, float* start,
                          float* z) const {
  const Panels& w = layers[0].forward;
  const size_t out = panel_stride(w.n());
  if (rows.row != nullptr) {
    return rows.for_contexts([&](size_t begin, size_t end, size_t r) {
      std::copy_n(w.start(), w.n(), start);
      add_scaled(1.0f, rows.context.row(r).data(), start, w.n());
      panel_product_from(start, end - begin, a + begin * stride, stride, w, z + begin * out, out);
    });
  }
  panel_product(rows.x.rows, a, stride, w, z, out);
  for (size_t i = 0; i < rows.x.rows; ++i) {
    for (size_t k = 0; k < rows.categorical; ++k) {
      const uint32_t level = rows.level[i * rows.categorical + k];
      SELFNORM_CHECK(level < shape.levels[k]);
      add_scaled(1.0f, embedding(k, level), z + i * out, w.n());
    }
  }
}

void Network::add_parts(std::span<NetworkGradient> parts, std::span<float> total) const {
  if (parts.empty()) return;
  NetworkGradient& sum = parts[0];  // the first process's; room for the sum in the others
  const UnitShare own = own_units(parts.size());
  add_in_order(parts.size(), std::span(sum.values.data(), sum.values.size()), kGrain,
               [&](size_t begin, size_t end) {
                 for (size_t p = std::max<size_t>(own.begin, 1); p < own.end; ++p)
                   add_scaled(1.0f, parts[p].values.data() + begin, sum.values.data() + begin, end - begin);
               });
  add_transposed(shape.inputs, shape.fourier, sum.frequencies(), panel_stride(shape.fourier), total.data());
  for (size_t l = 0; l < shape.layers.size(); ++l) {
    const NetworkLayer& layer = shape.layers[l];
    parallel_ranges(layer.out, kColumns, [&](size_t begin, size_t end) {
      add_transposed(layer.in, end - begin, sum.weight(l) + begin, panel_stride(layer.out),
                     total.data() + layer.weight + begin * layer.in);
    });
    add_scaled(1.0f, sum.bias(l), total.data() + layer.bias, layer.out);
  }
  if (shape.has_score) add_scaled(1.0f, sum.output(), total.data() + shape.output, shape.width());
}

void Network::add_gradient(std::span<NetworkGradient> parts, std::span<float> gradient) const {
  SELFNORM_CHECK(gradient.size() == theta.size());
  if (spectral.empty()) return add_parts(parts, gradient);
  std::vector<float> sum(theta.size());
  add_parts(parts, sum);
  for (size_t l = 0; l < spectral.size(); ++l) {
    const size_t begin = shape.layers[l].weight, size = shape.layers[l].size();
    const std::span<float> own = std::span(sum).subspan(begin, size);
    spectral[l].add_gradient(std::span(theta).subspan(begin, size), own, gradient.subspan(begin, size));
    std::fill(own.begin(), own.end(), 0.0f);
  }
  for (size_t i = 0; i < sum.size(); ++i) gradient[i] += sum[i];
}

NetworkGradient::NetworkGradient(const NetworkShape& shape) {
  size_t size = shape.fourier > 0 ? shape.inputs * panel_stride(shape.fourier) : 0;
  for (const NetworkLayer& layer : shape.layers) {
    const size_t bias = size + layer.in * panel_stride(layer.out);
    places.emplace_back(size, bias);
    size = bias + whole_panels(layer.out);
  }
  places.emplace_back(size, size);
  values = AlignedFloats(size + (shape.has_score ? whole_panels(shape.width()) : 0));
}

void NetworkGradient::clear() { std::fill_n(values.data(), values.size(), 0.0f); }

void SpectralNorm::measure(std::span<const float> w) {
  RandomStream random(0, u_.size());
  for (float& u : u_) u = static_cast<float>(random.normal());
  std::vector<float> before;
  double norm = 0;
  for (int i = 0; i < kMostIterations; ++i) {
    before = u_;
    std::fill(v_.begin(), v_.end(), 0.0f);
    for (size_t o = 0; o < u_.size(); ++o) add_scaled(u_[o], w.data() + o * v_.size(), v_.data(), v_.size());
    normalise(v_);
    for (size_t o = 0; o < u_.size(); ++o)
      u_[o] = static_cast<float>(dot(w.data() + o * v_.size(), v_.data(), v_.size()));
    norm = normalise(u_);
    if (square_distance(u_, before) < kStill) break;
  }
  sigma_ = std::max(norm, kSmallest);
}

void SpectralNorm::add_gradient(std::span<const float> w, std::span<const float> g,
                                std::span<float> total) const {
  const float factor = static_cast<float>(1 / sigma_);
  const float along = static_cast<float>(-dot(w.data(), g.data(), w.size()) / (sigma_ * sigma_));
  for (size_t o = 0; o < u_.size(); ++o) {
    float* row = total.data() + o * v_.size();
    add_scaled(factor, g.data() + o * v_.size(), row, v_.size());
    add_scaled(along * u_[o], v_.data(), row, v_.size());
  }
}

}  // namespace selfnorm
