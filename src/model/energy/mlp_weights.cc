#include "model/energy/mlp_weights.h"

#include <algorithm>
#include <cmath>

#include "math/kernels.h"
#include "math/parallel.h"
#include "math/random.h"

namespace selfnorm {
namespace {

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

MlpWeights::MlpWeights(const MlpShape& s)
    : shape(s),
      frequencies(s.dimension, s.fourier),
      from_phases(s.fourier, s.dimension),
      from_inputs(s.layers[0].out, s.dimension) {
  for (size_t l = 0; l < s.layers.size(); ++l) {
    const MlpLayer& layer = s.layers[l];
    layers.push_back(
        {Panels(layer.in, layer.out), Panels(layer.out, l == 0 ? layer.in - s.dimension : layer.in)});
  }
}

void MlpWeights::assign(std::span<const float> theta, std::span<const double> sigma) {
  output = theta.data() + shape.output;
  frequencies.pack_transposed(theta.data(), shape.dimension, 1);
  from_phases.pack(theta.data(), shape.dimension, 1);
  const auto factor = [&](size_t l) { return static_cast<float>(1 / sigma[l]); };
  from_inputs.pack(theta.data() + shape.layers[0].weight, shape.layers[0].in, factor(0));
  parallel_units(2 * layers.size(), [&](size_t unit) {
    const size_t l = unit / 2;
    const MlpLayer& layer = shape.layers[l];
    const float* w = theta.data() + layer.weight;
    if (unit % 2 == 0) {
      layers[l].forward.pack_transposed(w, layer.in, factor(l));
      layers[l].forward.set_start(theta.data() + layer.bias);
    } else {
      layers[l].backward.pack(w + (l == 0 ? shape.dimension : 0), layer.in, factor(l));
    }
  });
}

void MlpWeights::first_layer(const MlpRows& rows, const float* a, float* start, float* z) const {
  const Panels& w = layers[0].forward;
  const size_t in = panel_stride(shape.features()), out = panel_stride(w.n());
  if (rows.row == nullptr) return panel_product(rows.x.rows, a, in, w, z, out);
  for_contexts(rows, [&](size_t begin, size_t end, size_t r) {
    std::copy_n(w.start(), w.n(), start);
    add_scaled(1.0f, rows.context.row(r).data(), start, w.n());
    panel_product_from(start, end - begin, a + begin * in, in, w, z + begin * out, out);
  });
}

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
