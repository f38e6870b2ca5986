// The one check that an Energy's derivatives are those of its scores, and that its batches agree.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "math/parallel.h"
#include "model/energy/energy.h"

namespace selfnorm {

inline std::vector<double> scores(const Energy& energy, const std::vector<float>& x) {
  std::vector<double> s(x.size() / energy.dimension());
  energy.score({x.data(), s.size(), energy.dimension()}, s);
  return s;
}

// Pass against score; sum_i d_i ds_i/dtheta by central differences of steps `step`.
inline void expect_parameter_gradient(Energy& energy, const std::vector<float>& x, float step = 1e-2f,
                                      double tolerance = 2e-3) {
  const Points points{x.data(), x.size() / energy.dimension(), energy.dimension()};
  std::vector<double> d(points.rows);
  for (size_t i = 0; i < d.size(); ++i) d[i] = 0.5 - 0.3 * static_cast<double>(i % 5);
  std::vector<float> gradient(energy.parameters().size(), 1.0f);
  const auto pass = energy.make_pass();
  const auto s = pass->forward(points);
  EXPECT_EQ(std::vector<double>(s.begin(), s.end()), scores(energy, x));
  pass->backward(d, gradient);
  const auto loss = [&] {
    const auto values = scores(energy, x);
    double sum = 0;
    for (size_t i = 0; i < d.size(); ++i) sum += d[i] * values[i];
    return sum;
  };
  for (size_t k = 0; k < gradient.size(); ++k) {
    const float at = energy.parameters()[k];
    const auto moved = [&](float by) {
      energy.parameters()[k] = at + by;
      energy.parameters_changed();
      const double out = loss();
      energy.parameters()[k] = at;
      energy.parameters_changed();
      return out;
    };
    const double numeric = (moved(step) - moved(-step)) / (2 * static_cast<double>(step));
    EXPECT_NEAR(gradient[k] - 1, numeric, tolerance * std::max(1.0, std::abs(numeric))) << "parameter " << k;
  }
}

// ds/dx, the derivatives along v and their gradients with respect to theta, against each other and against
// differences.
inline void expect_point_derivatives(Energy& energy, const std::vector<float>& x,
                                     const std::vector<float>& v) {
  const uint32_t d = energy.dimension();
  const Points points{x.data(), x.size() / d, d}, along{v.data(), v.size() / d, d};
  std::vector<double> s(points.rows), first(points.rows), second(points.rows);
  std::vector<float> dx(x.size());
  energy.score_gradient(points, s, dx);
  EXPECT_EQ(s, scores(energy, x));
  energy.directional(points, along, first, second);
  const double h = 1.0 / 256;
  const auto shifted = [&](double by) {
    std::vector<float> y = x;
    for (size_t i = 0; i < y.size(); ++i) y[i] += static_cast<float>(by) * v[i];
    return scores(energy, y);
  };
  const auto above = shifted(h), below = shifted(-h);
  for (size_t i = 0; i < points.rows; ++i) {
    double product = 0;
    for (uint32_t j = 0; j < d; ++j) product += static_cast<double>(dx[i * d + j]) * v[i * d + j];
    EXPECT_NEAR(first[i], product, 1e-4 * std::max(1.0, std::abs(product)));
    EXPECT_NEAR(first[i], (above[i] - below[i]) / (2 * h), 3e-3 * std::max(1.0, std::abs(first[i])));
    EXPECT_NEAR(second[i], (above[i] - 2 * s[i] + below[i]) / (h * h),
                1e-2 * std::max(1.0, std::abs(second[i])));
  }
  std::vector<double> d_first(points.rows), d_second(points.rows);
  for (size_t i = 0; i < points.rows; ++i) d_first[i] = 0.7 - 0.2 * static_cast<double>(i), d_second[i] = 0.4;
  std::vector<float> gradient(energy.parameters().size());
  energy.directional_backward(points, along, d_first, d_second, gradient);
  for (size_t k = 0; k < gradient.size(); ++k) {
    const float at = energy.parameters()[k], step = 1e-2f;
    const auto moved = [&](float by) {
      energy.parameters()[k] = at + by;
      energy.parameters_changed();
      energy.directional(points, along, first, second);
      double sum = 0;
      for (size_t i = 0; i < points.rows; ++i) sum += d_first[i] * first[i] + d_second[i] * second[i];
      energy.parameters()[k] = at;
      energy.parameters_changed();
      return sum;
    };
    const double numeric = (moved(step) - moved(-step)) / (2 * static_cast<double>(step));
    EXPECT_NEAR(gradient[k], numeric, 2e-3 * std::max(1.0, std::abs(numeric))) << "parameter " << k;
  }
}

// The bits of score and backward for one and for several threads.
inline void expect_thread_invariance(const Energy& energy, const std::vector<float>& x) {
  const Points points{x.data(), x.size() / energy.dimension(), energy.dimension()};
  const std::vector<double> d(points.rows, 0.3);
  const auto run = [&](int threads) {
    const ThreadLimit limit(threads);
    std::vector<float> gradient(energy.parameters().size());
    const auto pass = energy.make_pass();
    pass->forward(points);
    pass->backward(d, gradient);
    return std::pair(scores(energy, x), gradient);
  };
  EXPECT_EQ(run(1), run(4));
}

}  // namespace selfnorm
