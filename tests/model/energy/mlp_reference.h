// A network energy written out in double precision, the oracle of tests/model/energy/mlp*.cc, and the
// networks and points it is asked about.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "math/sigmoid.h"
#include "model/energy/mlp.h"
#include "random_data.h"

namespace selfnorm {

inline double reference_activation(const std::string& name, double z) {
  if (name == "silu") return z * sigmoid(z);
  if (name == "relu") return z > 0 ? z : 0;
  if (name == "tanh") return std::tanh(z);
  if (name == "softplus") return softplus(z);
  return 0.5 * z * std::erfc(-z / std::numbers::sqrt2);
}

// The largest singular value of w (out x in), by power iteration until it stands still.
inline double largest_singular_value(std::span<const double> w, size_t out, size_t in) {
  std::vector<double> u(out), v(in);
  for (size_t o = 0; o < out; ++o) u[o] = 1 + 0.3 * static_cast<double>(o);
  const auto normalise = [](std::vector<double>& x) {
    double square = 0;
    for (const double value : x) square += value * value;
    for (double& value : x) value /= std::sqrt(square);
    return std::sqrt(square);
  };
  double norm = 0, before = -1;
  while (std::abs(norm - before) > 1e-15 * norm) {
    before = norm;
    v.assign(in, 0);
    for (size_t o = 0; o < out; ++o)
      for (size_t i = 0; i < in; ++i) v[i] += w[o * in + i] * u[o];
    normalise(v);
    u.assign(out, 0);
    for (size_t o = 0; o < out; ++o)
      for (size_t i = 0; i < in; ++i) u[o] += w[o * in + i] * v[i];
    norm = normalise(u);
  }
  return norm;
}

class MlpReference {
 public:
  MlpReference(const MlpOptions& options, uint32_t dimension, std::vector<double> theta)
      : options_(options), dimension_(dimension), theta_(std::move(theta)) {
    size_t in = dimension + 2 * options.fourier, at = size_t{options.fourier} * dimension;
    for (const size_t out : options.widths) {
      const std::span<double> w = std::span<double>(theta_).subspan(at, out * in);
      const double sigma = options.spectral_norm ? largest_singular_value(w, out, in) : 1;
      for (double& x : w) x /= sigma;
      at += out * in + out;
      in = out;
    }
  }

  double score(const std::vector<double>& x) const {
    std::vector<double> a = x, phase(options_.fourier);
    for (size_t f = 0; f < phase.size(); ++f)
      for (size_t j = 0; j < dimension_; ++j) phase[f] += theta_[f * dimension_ + j] * x[j];
    for (const double p : phase) a.push_back(std::cos(p));
    for (const double p : phase) a.push_back(std::sin(p));
    size_t at = phase.size() * dimension_;
    for (size_t l = 0; l < options_.widths.size(); ++l) {
      const size_t in = a.size(), out = options_.widths[l];
      std::vector<double> next(out);
      for (size_t o = 0; o < out; ++o) {
        double z = theta_[at + out * in + o];
        for (size_t i = 0; i < in; ++i) z += theta_[at + o * in + i] * a[i];
        next[o] = reference_activation(options_.activation, z);
        if (options_.residual && l > 0 && in == out) next[o] += a[o];
      }
      at += out * in + out;
      a = std::move(next);
    }
    double s = 0;
    for (size_t i = 0; i < a.size(); ++i) s += theta_[at + i] * a[i];
    return s;
  }

 private:
  MlpOptions options_;
  size_t dimension_;
  std::vector<double> theta_;
};

// Every activation x residual x spectral norm x Fourier features.
inline std::vector<MlpOptions> all_options() {
  std::vector<MlpOptions> all;
  for (const char* activation : {"silu", "relu", "tanh", "softplus", "gelu"}) {
    for (int bits = 0; bits < 8; ++bits) {
      MlpOptions options;
      options.widths = {5, 5, 4};
      options.activation = activation;
      options.residual = bits & 1;
      options.spectral_norm = bits & 2;
      options.fourier = bits & 4 ? 3 : 0;
      options.fourier_scale = 1;
      all.push_back(options);
    }
  }
  return all;
}

inline std::string name_of(const MlpOptions& o) {
  return o.activation + (o.residual ? " residual" : "") + (o.spectral_norm ? " spectral" : "") +
         (o.fourier > 0 ? " fourier" : "");
}

// With weights, biases and w of ordinary size.
inline std::unique_ptr<Energy> network(uint32_t dimension, const MlpOptions& options) {
  auto energy = make_mlp(dimension, options, 3);
  RandomStream random(7);
  for (float& t : energy->parameters()) t += static_cast<float>(0.3 * random.normal());
  energy->parameters_changed();
  return energy;
}

inline std::vector<double> doubles(std::span<const float> x) { return {x.begin(), x.end()}; }

// d f / d theta by central differences of the double-precision oracle.
inline std::vector<double> differences(std::vector<double> at, double step,
                                       const std::function<double(const std::vector<double>&)>& f) {
  std::vector<double> out;
  for (double& t : at) {
    const double before = t;
    t = before + step;
    const double above = f(at);
    t = before - step;
    out.push_back((above - f(at)) / (2 * step));
    t = before;
  }
  return out;
}

inline constexpr uint32_t kDimension = 3;
inline constexpr uint64_t kRows = 4;

struct Batch {
  std::vector<float> values = random_vector<float>(kRows * kDimension, 11);
  std::vector<float> directions = random_vector<float>(kRows * kDimension, 12);
  std::vector<double> weight = {0.7, -1.3, 0.4, 2.0}, second_weight = {-0.2, 0.5, 1.1, -0.6};

  Points x() const { return {values.data(), kRows, kDimension}; }
  Points v() const { return {directions.data(), kRows, kDimension}; }
  // x_i + t v_i
  std::vector<double> point(uint64_t i, double t = 0) const {
    std::vector<double> out;
    for (uint32_t j = 0; j < kDimension; ++j)
      out.push_back(static_cast<double>(x().row(i)[j]) + t * static_cast<double>(v().row(i)[j]));
    return out;
  }
};

}  // namespace selfnorm
