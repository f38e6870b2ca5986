#include <gtest/gtest.h>

#include <algorithm>

#include "math/parallel.h"
#include "proposal/conditional/mixture_cases.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

std::vector<float> draws(const MixtureCase& c, uint64_t each, double w, uint64_t seed = 1) {
  const Points parameters = c.parameter_points();
  std::vector<float> y(parameters.rows * each * c.dimension());
  c.mixture.sample(parameters, each, w, seed, y);
  return y;
}

// Kolmogorov and Smirnov's distance between the draws and q_w integrated by midpoints over [-L, L] within the
// support, of which coordinate 0 is taken; 1.95 / sqrt(n) is exceeded in one case of 1,000.
void expect_draws_of_density(MixtureCase c, double w) {
  constexpr size_t n = 4000, grid = 8000;
  std::vector<float> y = draws(c, n, w);
  std::ranges::sort(y);
  const double from = std::max(-16.0, static_cast<double>(c.mixture.least()[0]));
  const double to = std::min(16.0, static_cast<double>(c.mixture.most()[0])), h = (to - from) / grid;
  ASSERT_GE(y.front(), from);
  ASSERT_LE(y.back(), to);
  c.row.assign(grid, 0);
  c.y.resize(grid);
  for (size_t i = 0; i < grid; ++i) c.y[i] = static_cast<float>(from + (static_cast<double>(i) + 0.5) * h);
  std::vector<double> log_q(grid), log_g(grid);
  c.mixture.log_prob(c.at(), log_q, log_g);
  double mass = 0, distance = 0;
  for (size_t i = 0; i < grid; ++i) {
    mass += h * std::exp(broadened(log_q[i], log_g[i], w));
    const double end = from + static_cast<double>(i + 1) * h;
    const auto below = static_cast<double>(std::ranges::upper_bound(y, static_cast<float>(end)) - y.begin());
    distance = std::max(distance, std::abs(mass - below / n));
  }
  EXPECT_NEAR(mass, 1, 1e-4);
  EXPECT_LT(distance, 1.95 / std::sqrt(n));
}

TEST(MixtureSample, FollowsTheDensity) {
  uint64_t seed = 20;
  for (const MixtureShape& shape : mixture_shapes())
    if (shape.dimension == 1)
      for (const double w : {0.0, 0.1, 1.0}) expect_draws_of_density(mixture_case(shape, {1}, ++seed), w);
}

TEST(MixtureSample, FollowsComponentsFarOutsideTheSupport) {
  for (const float mean : {-40.0f, 40.0f}) {
    MixtureCase c = mixture_case(mixture_shape(1, 2, {-1}, {1}), {1});
    c.parameters = {0, 1, mean, mean / 8, 1, 0.5f};
    expect_draws_of_density(c, 0);
  }
}

// Mean and covariance of 20,000 draws within five standard errors, or about.
TEST(MixtureSample, MomentsInThePlane) {
  const MixtureCase c = mixture_case(mixture_shape(2, 3), {1}, 4);
  constexpr size_t n = 20000;
  const std::vector<float> y = draws(c, n, 0);
  double mean[2] = {}, product[3] = {}, found_mean[2] = {}, found[3] = {};
  for (const auto& part : c.mixture.components(c.parameters)) {
    for (size_t j = 0; j < 2; ++j) {
      mean[j] += part.weight * part.mean[j];
      product[j] += part.weight * (part.mean[j] * part.mean[j] + part.scale[j] * part.scale[j]);
    }
    product[2] += part.weight * part.mean[0] * part.mean[1];
  }
  for (size_t i = 0; i < n; ++i) {
    const double a = y[2 * i], b = y[2 * i + 1];
    found_mean[0] += a / n;
    found_mean[1] += b / n;
    found[0] += a * a / n;
    found[1] += b * b / n;
    found[2] += a * b / n;
  }
  for (size_t j = 0; j < 2; ++j) EXPECT_NEAR(found_mean[j], mean[j], 5 * std::sqrt(product[j] / n));
  for (size_t j = 0; j < 2; ++j) EXPECT_NEAR(found[j], product[j], 5 * 2 * product[j] / std::sqrt(n));
  EXPECT_NEAR(found[2], product[2], 5 * 2 * std::sqrt(product[0] * product[1] / n));
}

TEST(MixtureSample, InsideTheSupport) {
  for (const MixtureShape& shape : mixture_shapes()) {
    const MixtureCase c = mixture_case(shape, {1, 1, 1});
    const std::vector<float> y = draws(c, 200, 0.2);
    for (size_t i = 0; i < y.size(); ++i) {
      EXPECT_GE(y[i], c.mixture.least()[i % shape.dimension]);
      EXPECT_LE(y[i], c.mixture.most()[i % shape.dimension]);
    }
  }
}

TEST(MixtureSample, BoundsThatAreNoFloats) {
  MixtureCase c = mixture_case(mixture_shape(1, 1, {0.3}, {0.3 + 1e-7}), {1});
  for (const float v : draws(c, 100, 0.5)) {
    EXPECT_GE(static_cast<double>(v), 0.3);
    EXPECT_LE(static_cast<double>(v), 0.3 + 1e-7);
  }
}

TEST(MixtureSample, FiniteForExtremeParameters) {
  for (const MixtureShape& shape : mixture_shapes())
    for (const float raw : {-100.0f, 100.0f, 3e38f})
      for (const float mean : {-1e3f, 1e3f, -3e38f, 3e38f}) {
        MixtureCase c = mixture_case(shape, {1});
        const size_t cells = size_t{shape.components} * shape.dimension;
        std::fill_n(c.parameters.begin() + shape.components, cells, mean);
        std::fill_n(c.parameters.begin() + static_cast<ptrdiff_t>(shape.components + cells), cells, raw);
        for (const float v : draws(c, 20, 0.1)) ASSERT_TRUE(std::isfinite(v)) << raw << ' ' << mean;
      }
}

TEST(MixtureSample, ComponentsWithoutWeightAreNotDrawn) {
  MixtureCase c = mixture_case(mixture_shape(1, 3), {1});
  c.parameters = {-2000, 0, -2000, 100, 0, 200, 0, 0, 0};
  for (const float v : draws(c, 2000, 0)) EXPECT_LT(std::abs(v), 20);
}

TEST(MixtureSample, NanRowsGiveNanAndOthersDoNotChange) {
  MixtureCase c = mixture_case(mixture_shape(1, 2, {0}, {kInfinity}), {1, 1});
  const std::vector<float> before = draws(c, 10, 0.1);
  c.parameters[0] = std::nanf("");
  const std::vector<float> after = draws(c, 10, 0.1);
  for (size_t i = 0; i < 10; ++i) EXPECT_TRUE(std::isnan(after[i]));
  EXPECT_TRUE(std::equal(before.begin() + 10, before.end(), after.begin() + 10));
}

TEST(MixtureSample, SameDrawsForAnyThreads) {
  for (const MixtureShape& shape : {mixture_shape(1, 8), mixture_shape(2, 3, {-1, -1}, {1, 1})}) {
    const MixtureCase c = mixture_case(shape, std::vector<uint32_t>(300, 1));
    std::vector<std::vector<float>> found;
    for (const int threads : {1, 4}) {
      const ThreadLimit limit(threads);
      found.push_back(draws(c, 33, 0.1));
    }
    EXPECT_EQ(found[0], found[1]);
    EXPECT_NE(draws(c, 33, 0.1, 2), found[0]);
  }
}

TEST(MixtureSample, NoDrawsAreNone) {
  const MixtureCase c = mixture_case(mixture_shape(1, 2), {1});
  EXPECT_TRUE(draws(c, 0, 0.1).empty());
  std::vector<float> y(3);
  EXPECT_THROW(c.mixture.sample(c.parameter_points(), 2, 0.1, 1, y), Bug);
}

// Two normals and the broad one, given that a draw is in an interval: the moments of the density cut to it.
TEST(MixtureSample, BetweenTwoPlacesIsTheCutDensity) {
  for (const auto& [from, to] : {std::pair{0.2, 0.9}, {1.5, kInfinity}, {-kInfinity, -2.0}, {6.0, 7.0}}) {
    MixtureCase c = mixture_case(mixture_shape(1, 2), {4000});
    c.parameters = {0.25f, -0.5f, -1, 1, 0, 0.5f};
    const double w = 0.1, low = std::max(from, -15.0), high = std::min(to, 15.0), h = (high - low) / 4000;
    for (size_t i = 0; i < 4000; ++i) c.y[i] = static_cast<float>(low + (static_cast<double>(i) + 0.5) * h);
    std::vector<double> log_q(4000), log_g(4000);
    c.mixture.log_prob(c.at(), log_q, log_g);
    broaden(log_q, log_g, w);
    double mass = 0, first = 0, second = 0;
    for (size_t i = 0; i < 4000; ++i) {
      mass += std::exp(log_q[i]);
      first += std::exp(log_q[i]) * c.y[i];
      second += std::exp(log_q[i]) * c.y[i] * c.y[i];
    }
    const double mean = first / mass, deviation = std::sqrt(second / mass - mean * mean);
    RandomStream random(5);
    std::vector<float> y(20000);
    c.mixture.sample_between(c.parameters, w, {from, to}, random, y);
    double found = 0;
    for (const float v : y) {
      EXPECT_GE(v, static_cast<float>(from));
      EXPECT_LE(v, static_cast<float>(to));
      found += v / 20000.0;
    }
    EXPECT_NEAR(found, mean, 5 * deviation / std::sqrt(20000) + 1e-3) << from;
  }
}

}  // namespace
}  // namespace selfnorm
