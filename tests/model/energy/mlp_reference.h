// A network energy written out in double precision: the oracle of tests/model/energy/mlp.cc.
#pragma once

#include <cmath>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "selfnorm/math/sigmoid.h"
#include "selfnorm/model/energy/mlp.h"

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

}  // namespace selfnorm
