#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "normalizer/quadrature/conditional_quadrature.h"
#include "normalizer/quadrature/conditional_truths.h"

namespace selfnorm {
namespace {

using truths::log_normal;
using truths::TrueScores;

// Two and three dimensions: correlated normals, a ring, a peak beside a broad one, walls.
TEST(ConditionalQuadrature, Planes) {
  const double r = 0.8;
  struct PlaneCase {
    std::string name;
    std::function<double(double, double)> s;
    double log_z;
    std::vector<ConditionalScores::Place> places = {{1, {0, 0}, {1, 1}}};
    Support support = {};
  };
  const std::vector<PlaneCase> all = {
      {"correlated", [=](double x, double y) { return -(x * x - 2 * r * x * y + y * y) / (2 * (1 - r * r)); },
       std::log(2 * std::numbers::pi * std::sqrt(1 - r * r))},
      {"ridge",
       [](double x, double y) { return -(x * x - 2 * 0.99 * x * y + y * y) / (2 * (1 - 0.99 * 0.99)); },
       std::log(2 * std::numbers::pi * std::sqrt(1 - 0.99 * 0.99))},
      {"ridge, places too wide",
       [](double x, double y) { return -(x * x - 2 * 0.99 * x * y + y * y) / (2 * (1 - 0.99 * 0.99)); },
       std::log(2 * std::numbers::pi * std::sqrt(1 - 0.99 * 0.99)),
       {{1, {1, 2}, {3, 3}}}},
      {"ring", [](double x, double y) { return -std::pow(std::hypot(x, y) - 2, 2) / (2 * 0.09); },
       std::log(2 * std::numbers::pi * (2 * 0.3 * std::sqrt(2 * std::numbers::pi)))},
      {"peak",
       [](double x, double y) {
         LogSumExp sum;
         sum.add(std::log(0.5) + log_normal(x, 0, 1) + log_normal(y, 1, 2));
         sum.add(std::log(0.5) + log_normal(x, 0.4, 0.02) + log_normal(y, -1, 0.05));
         return sum.value();
       },
       0,
       {{0.5, {0, 1}, {1, 2}}, {0.5, {0.4, -1}, {0.02, 0.05}}}},
      {"quadrant",
       [](double x, double y) { return -2 * x - y; },
       -std::log(2),
       {{1, {0, 0}, {1, 1}}},
       Support::box({0, 0}, {INFINITY, INFINITY})},
      {"places away", [](double x, double y) { return log_normal(x, 9, 1) + log_normal(y, -7, 0.5); }, 0},
  };
  for (const PlaneCase& c : all) {
    const TrueScores scores([&](uint32_t, std::span<const float> y) { return c.s(y[0], y[1]); }, c.places,
                            c.support);
    const PredictiveNodes out = conditional_quadrature(scores)[0];
    EXPECT_LE(std::abs(out.log_normalizer - c.log_z), out.error) << c.name;
    EXPECT_LE(out.error, 2e-4) << c.name;
    EXPECT_EQ(out.box.size() / 4 * out.nodes_per_cell, out.log_density.size());
    double volume = 0, mass = 0;
    for (size_t b = 0; b < out.box.size(); b += 4)
      volume += (out.box[b + 1] - out.box[b]) * (out.box[b + 3] - out.box[b + 2]);
    double weights = 0;
    for (size_t i = 0; i < out.log_weight.size(); ++i) {
      weights += std::exp(out.log_weight[i]);
      mass += std::exp(out.log_weight[i] + out.log_density[i]);
    }
    EXPECT_NEAR(weights / volume, 1, 1e-10);
    EXPECT_NEAR(mass, 1, 1e-10);
  }
}

// What cannot be reached is no reason to stay further away from it.
TEST(ConditionalQuadrature, MorePrecisionIsNotMoreError) {
  const TrueScores scores(
      [](uint32_t, std::span<const float> y) {
        LogSumExp sum;
        sum.add(std::log(0.9) + log_normal(y[0], 0, 0.3) + log_normal(y[1], y[0] * y[0], 0.1));
        sum.add(std::log(0.1) + log_normal(y[0], 0, 3) + log_normal(y[1], 0, 3));
        return sum.value();
      },
      {{0.6, {0, 0.1}, {0.3, 0.1}}, {0.3, {0.3, 0.2}, {0.2, 0.2}}, {0.1, {0, 0}, {3, 3}}});
  double least = 1;
  for (const double precision : {1e-4, 1e-6, 1e-8}) {
    const ConditionalLogZ out =
        conditional_log_z(scores, {.precision = precision, .most_evaluations = 30'000})[0];
    EXPECT_LE(std::abs(out.value), out.error) << precision;
    EXPECT_LE(out.error, 4 * least) << precision;
    least = std::min(least, out.error);
  }
}

TEST(ConditionalQuadrature, Spaces) {
  const TrueScores normal(
      [](uint32_t, std::span<const float> y) {
        return log_normal(y[0], 0, 1) + log_normal(y[1], 1, 0.3) + log_normal(y[2], y[0] / 2, 0.5);
      },
      {{1, {0, 1, 0}, {1, 0.3, 0.7}}});
  const PredictiveNodes out = conditional_quadrature(normal, {.precision = 1e-3})[0];
  EXPECT_LE(std::abs(out.log_normalizer), out.error);
  EXPECT_LE(out.error, 1e-3);
}

}  // namespace
}  // namespace selfnorm
