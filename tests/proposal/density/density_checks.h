// What every density is held to.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "gradient_check.h"
#include "proposal/density/make_density.h"

namespace selfnorm {

inline std::vector<double> log_probs(const Density& q, const std::vector<float>& rows) {
  std::vector<double> out(rows.size() / q.dimension());
  q.log_prob({rows.data(), out.size(), q.dimension()}, out);
  return out;
}

inline double log_prob_at(const Density& q, const std::vector<float>& x) { return log_probs(q, x)[0]; }

// The midpoint rule on [low, high] or its square with `cells` cells a side.
inline double grid_integral(const Density& q, double low, double high, size_t cells) {
  const double width = (high - low) / static_cast<double>(cells);
  const auto centre = [&](size_t i) {
    return static_cast<float>(low + (static_cast<double>(i) + 0.5) * width);
  };
  std::vector<float> rows;
  for (size_t i = 0; i < cells; ++i) {
    if (q.dimension() == 1) rows.push_back(centre(i));
    for (size_t j = 0; q.dimension() == 2 && j < cells; ++j) rows.insert(rows.end(), {centre(i), centre(j)});
  }
  double sum = 0;
  for (const double log_q : log_probs(q, rows)) sum += std::exp(log_q);
  return sum * std::pow(width, q.dimension());
}

// The gradient in x, and both derivatives along v, by differences of log q. Steps are powers of two of the
// size of float32's spacing, so that x + h is exact.
inline void expect_derivatives(const Density& q, const std::vector<float>& x, const std::vector<float>& v,
                               double tolerance = 2e-4) {
  const uint32_t d = q.dimension();
  const float h = 0x1p-7f;
  std::vector<double> log_q(1), gradient(d), first(1), second(1);
  q.log_prob_gradient({x.data(), 1, d}, log_q, gradient);
  EXPECT_EQ(log_q[0], log_prob_at(q, x));
  for (uint32_t j = 0; j < d; ++j) {
    const auto at = [&](float step) {
      std::vector<float> moved = x;
      moved[j] += step * h;
      return log_prob_at(q, moved);
    };
    // Five points: the error is of order h^4.
    const double numeric = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * static_cast<double>(h));
    EXPECT_NEAR(gradient[j], numeric, tolerance * std::max(1.0, std::abs(numeric))) << "coordinate " << j;
  }
  q.directional({x.data(), 1, d}, {v.data(), 1, d}, first, second);
  double along = 0;
  for (uint32_t j = 0; j < d; ++j) along += gradient[j] * static_cast<double>(v[j]);
  EXPECT_NEAR(first[0], along, 1e-9 * std::max(1.0, std::abs(along)));
  const auto at = [&](float step) {
    std::vector<float> moved = x;
    for (uint32_t j = 0; j < d; ++j) moved[j] += step * h * v[j];
    return log_prob_at(q, moved);
  };
  const double curvature = (16 * (at(1) + at(-1)) - (at(2) + at(-2)) - 30 * at(0)) /
                           (12 * static_cast<double>(h) * static_cast<double>(h));
  EXPECT_NEAR(second[0], curvature, 10 * tolerance * std::max(1.0, std::abs(curvature)));
}

// sum_i weight_i log q(x_i) as a function of the parameters.
inline void expect_parameter_gradient(LearnableDensity& q, const std::vector<float>& rows) {
  const size_t n = rows.size() / q.dimension();
  const Points x{rows.data(), n, q.dimension()};
  std::vector<double> weight(n);
  for (size_t i = 0; i < n; ++i)
    weight[i] = 0.5 + 0.3 * static_cast<double>(i % 5) - 0.4 * static_cast<double>(i % 3);
  const std::vector<double> start = q.parameters();
  std::vector<double> gradient(start.size(), 1);  // it is added to
  q.add_gradient(x, weight, gradient);
  for (double& g : gradient) g -= 1;
  const auto value = [&](const std::vector<double>& parameters) {
    q.set_parameters(parameters);
    double sum = 0;
    const std::vector<double> log_q = log_probs(q, rows);
    for (size_t i = 0; i < n; ++i) sum += weight[i] * log_q[i];
    return sum;
  };
  expect_gradient(value, start, gradient);
  q.set_parameters(start);
}

// The same kind and numbers, the same draws and the same bits of log q.
inline void expect_round_trip(const Density& q) {
  const DensityRecord record = q.record();
  const auto again = make_density(record, q.dimension());
  EXPECT_EQ(again->record().kind, record.kind);
  EXPECT_EQ(again->record().values, record.values);
  std::vector<float> rows(50 * q.dimension()), same(rows.size());
  RandomStream random(3), repeated(3);
  q.sample(random, rows);
  again->sample(repeated, same);
  EXPECT_EQ(rows, same);
  EXPECT_EQ(log_probs(q, rows), log_probs(*again, rows));
}

// Kolmogorov and Smirnov's distance of a coordinate of n draws from its distribution function, times sqrt(n):
// above 1.95 in one case of 1,000.
template <class Cdf>
double ks_distance(const Density& q, uint32_t coordinate, size_t n, const Cdf& cdf) {
  std::vector<float> rows(n * q.dimension());
  sample_density(q, 7, rows, {});
  std::vector<double> u(n);
  for (size_t i = 0; i < n; ++i) u[i] = cdf(static_cast<double>(rows[i * q.dimension() + coordinate]));
  std::sort(u.begin(), u.end());
  double worst = 0;
  for (size_t i = 0; i < n; ++i)
    worst = std::max({worst, static_cast<double>(i + 1) / static_cast<double>(n) - u[i],
                      u[i] - static_cast<double>(i) / static_cast<double>(n)});
  return worst * std::sqrt(static_cast<double>(n));
}

inline double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

}  // namespace selfnorm
