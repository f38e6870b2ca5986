// Mixtures for the tests: shapes of every kind of support, rows of parameters, and the density written out.
#pragma once

#include <cmath>
#include <numbers>
#include <vector>

#include "math/sigmoid.h"
#include "proposal/conditional/mixture.h"
#include "random_data.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {

inline MixtureShape mixture_shape(uint32_t dimension, uint32_t components, std::vector<double> lower = {},
                                  std::vector<double> upper = {}) {
  MixtureShape shape;
  shape.dimension = dimension;
  shape.components = components;
  shape.lower = std::move(lower);
  shape.upper = std::move(upper);
  return shape;
}

inline MixtureShape spread_by(double spread, MixtureShape shape) {
  shape.spread = spread;
  return shape;
}

inline std::vector<MixtureShape> mixture_shapes() {
  return {spread_by(1.5, mixture_shape(1, 3)),
          spread_by(0.75, mixture_shape(2, 2, {-1, -kInfinity}, {1, kInfinity})),
          mixture_shape(1, 1),
          mixture_shape(1, 3),
          mixture_shape(1, 16),
          mixture_shape(2, 4),
          mixture_shape(3, 5),
          mixture_shape(1, 3, {-0.5}, {kInfinity}),
          mixture_shape(1, 2, {-kInfinity}, {0.75}),
          mixture_shape(1, 4, {-1}, {2}),
          mixture_shape(2, 3, {-1, -kInfinity}, {1, kInfinity}),
          mixture_shape(3, 2, {-1, 0, -kInfinity}, {1, kInfinity, 2})};
}

// Multiples of 1/64, so that parameters and small binary steps from them are float32.
inline std::vector<float> binary_numbers(size_t n, uint64_t seed, double size) {
  std::vector<float> out;
  for (const double v : random_vector<double>(n, seed, size))
    out.push_back(static_cast<float>(std::round(64 * v) / 64));
  return out;
}

// Everything a call takes, and the memory it views.
struct MixtureCase {
  ConditionalMixture mixture;
  std::vector<float> parameters, y;
  std::vector<uint32_t> row;

  uint32_t dimension() const { return mixture.shape().dimension; }
  Points parameter_points() const {
    const uint32_t width = mixture.shape().parameters();
    return {parameters.data(), parameters.size() / width, width};
  }
  MixturePoints at() const {
    return {parameter_points(), {y.data(), y.size() / dimension(), dimension()}, row};
  }
  std::vector<double> log_prob() const {
    std::vector<double> out(row.size());
    mixture.log_prob(at(), out, {});
    return out;
  }
  double log_prob(double w, size_t i) const {
    std::vector<double> log_q(row.size()), log_g(row.size());
    mixture.log_prob(at(), log_q, log_g);
    return broadened(log_q[i], log_g[i], w);
  }
};

// One row of parameters a count, with that many points in the support.
inline MixtureCase mixture_case(const MixtureShape& shape, const std::vector<uint32_t>& counts,
                                uint64_t seed = 1) {
  MixtureCase out{ConditionalMixture(shape), {}, {}, {}};
  out.parameters = binary_numbers(counts.size() * shape.parameters(), seed, 1);
  for (uint32_t r = 0; r < counts.size(); ++r) out.row.insert(out.row.end(), counts[r], r);
  out.y = binary_numbers(out.row.size() * shape.dimension, seed + 1, 1);
  for (size_t i = 0; i < out.y.size() && !shape.lower.empty(); ++i) {
    const size_t j = i % shape.dimension;
    const auto least = static_cast<float>(shape.lower[j]), most = static_cast<float>(shape.upper[j]);
    if (out.y[i] < least) out.y[i] = std::min(most, 2 * least - out.y[i]);
    if (out.y[i] > most) out.y[i] = std::max(least, 2 * most - out.y[i]);
  }
  return out;
}

// log q written out with the standard library's erfc.
inline double log_density_by_definition(const MixtureShape& shape, const float* p, const float* y) {
  const size_t count = shape.components, d = shape.dimension;
  double total = 0, density = 0;
  for (size_t k = 0; k < count; ++k) total += std::exp(static_cast<double>(p[k]));
  for (size_t k = 0; k < count; ++k) {
    double part = std::exp(static_cast<double>(p[k])) / total;
    for (size_t j = 0; j < d; ++j) {
      const double mean = p[count + k * d + j];
      const double s = shape.spread * (shape.least_scale + softplus(p[count + count * d + k * d + j]));
      const auto phi = [&](double t) { return std::erfc(-(t - mean) / (s * std::numbers::sqrt2)) / 2; };
      const double mass = shape.lower.empty() ? 1 : phi(shape.upper[j]) - phi(shape.lower[j]);
      const double z = (y[j] - mean) / s;
      part *= std::exp(-z * z / 2) / (s * std::sqrt(2 * std::numbers::pi) * mass);
    }
    density += part;
  }
  return std::log(density);
}

}  // namespace selfnorm
