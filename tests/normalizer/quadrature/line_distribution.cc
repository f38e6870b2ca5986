#include "normalizer/quadrature/line_distribution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "math/random.h"
#include "normalizer/quadrature/conditional_truths.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

using truths::log_mixture;
using truths::NormalPart;
using truths::places_of;
using truths::TrueScores;

PredictiveNodes nodes_of(const std::vector<NormalPart>& parts, double precision = 1e-4) {
  const TrueScores scores([&](uint32_t, std::span<const float> y) { return log_mixture(y[0], parts) + 2; },
                          places_of(parts));
  return conditional_quadrature(scores, {.precision = precision})[0];
}

LineDistribution one(const PredictiveNodes& nodes, double mean = 0, double scale = 1) {
  const PredictiveNodes* const members[] = {&nodes};
  return LineDistribution::of(members, 0, 1, mean, scale);
}

double normal_cdf(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

// [Grimit et al. 2006]: CRPS = sum w_i A(y - m_i, s_i^2) - 1/2 sum w_i w_j
// A(m_i - m_j, s_i^2 + s_j^2), A(m, v) = m (2 Phi(m / sqrt v) - 1) + 2 sqrt v phi(m / sqrt v).
double mixture_crps(const std::vector<NormalPart>& parts, double y) {
  const auto mean_distance = [](double m, double v) {
    const double z = m / std::sqrt(v);
    return m * (2 * normal_cdf(z) - 1) + 2 * std::sqrt(v / (2 * std::numbers::pi)) * std::exp(-z * z / 2);
  };
  double sum = 0;
  for (const NormalPart& a : parts) {
    sum += a.weight * mean_distance(y - a.mean, a.sd * a.sd);
    for (const NormalPart& b : parts)
      sum -= a.weight * b.weight / 2 * mean_distance(a.mean - b.mean, a.sd * a.sd + b.sd * b.sd);
  }
  return sum;
}

TEST(LineDistribution, NormalIsItsClosedForm) {
  for (const double sd : {0.01, 1.0}) {
    const LineDistribution line = one(nodes_of({{1, 0.3, sd}}), 5, 2);
    const double m = 5 + 2 * 0.3, s = 2 * sd;
    EXPECT_NEAR(line.mean(), m, 2e-5 * s);
    EXPECT_NEAR(line.deviation(), s, 5e-5 * s);
    const double z[] = {-2.5758293035489004, -1.6448536269514722, -0.6744897501960817, 0,
                        0.6744897501960817,  1.6448536269514722,  2.5758293035489004};
    const double level[] = {0.005, 0.05, 0.25, 0.5, 0.75, 0.95, 0.995};
    for (size_t i = 0; i < 7; ++i) {
      EXPECT_NEAR(line.quantile(level[i]), m + s * z[i], 1e-4 * s);
      EXPECT_NEAR(line.cdf(m + s * z[i]), level[i], 1e-5);
    }
    ASSERT_EQ(line.modes().size(), 1u);
    EXPECT_NEAR(line.modes()[0], m, 2e-3 * s);
    const std::vector<Interval> hdi = line.highest_density(0.9);
    ASSERT_EQ(hdi.size(), 1u);
    EXPECT_NEAR(hdi[0].from, m + s * z[1], 1e-3 * s);
    EXPECT_NEAR(hdi[0].to, m + s * z[5], 1e-3 * s);
    const Interval central = line.central(0.9);
    EXPECT_NEAR(central.from, m + s * z[1], 1e-4 * s);
    EXPECT_NEAR(central.to, m + s * z[5], 1e-4 * s);
    for (const double t : {-12.0, -3.0, -0.2, 0.0, 1.0, 2.5, 20.0})
      EXPECT_NEAR(line.crps(m + s * t), mixture_crps({{1, m, s}}, m + s * t), 2e-5 * s) << t;
    for (const double t : {-2.0, -0.5, 0.1, 1.7})
      EXPECT_NEAR(line.log_density(m + s * t), truths::log_normal(m + s * t, m, s), 2e-3) << t;
    EXPECT_EQ(line.log_density(m + 1e3 * s), -INFINITY);
  }
}

TEST(LineDistribution, Mixtures) {
  RandomStream random(4);
  double crps_error = 0, quantile_error = 0, moment_error = 0, mass_error = 0;
  for (int i = 0; i < 100; ++i) {
    std::vector<NormalPart> parts;
    double total = 0;
    for (int k = 0; k < 4; ++k) {
      parts.push_back({0.1 + random.uniform(), 2 * random.normal(), std::exp(3 * random.uniform() - 3)});
      total += parts.back().weight;
    }
    double mean = 0, square = 0;
    for (NormalPart& p : parts) {
      p.weight /= total;
      mean += p.weight * p.mean;
      square += p.weight * (p.mean * p.mean + p.sd * p.sd);
    }
    const double sd = std::sqrt(square - mean * mean);
    const LineDistribution line = one(nodes_of(parts));
    moment_error =
        std::max({moment_error, std::abs(line.mean() - mean) / sd, std::abs(line.deviation() / sd - 1)});
    const auto truth = [&](double y) {
      double sum = 0;
      for (const NormalPart& p : parts) sum += p.weight * normal_cdf((y - p.mean) / p.sd);
      return sum;
    };
    for (const double level : {0.01, 0.05, 0.3, 0.5, 0.8, 0.95, 0.99}) {
      const double q = line.quantile(level);
      quantile_error = std::max(quantile_error, std::abs(truth(q) - level));
      EXPECT_NEAR(line.cdf(q), level, 1e-12);
    }
    for (const double t : {-2.0, 0.0, 0.5, 3.0})
      crps_error =
          std::max(crps_error, std::abs(line.crps(mean + t * sd) - mixture_crps(parts, mean + t * sd)) / sd);
    for (const double level : {0.5, 0.9}) {
      double mass = 0, end = -INFINITY;
      for (const Interval& part : line.highest_density(level)) {
        EXPECT_LT(part.from, part.to);
        EXPECT_GT(part.from, end);
        end = part.to;
        mass += truth(part.to) - truth(part.from);
        // Both ends at the same density.
        EXPECT_NEAR(line.log_density(part.from), line.log_density(line.highest_density(level)[0].from), 1e-3);
      }
      mass_error = std::max(mass_error, std::abs(mass - level));
    }
  }
  EXPECT_LE(crps_error, 2e-5);
  EXPECT_LE(quantile_error, 3e-5);
  EXPECT_LE(moment_error, 1e-4);
  EXPECT_LE(mass_error, 5e-5);
}

// Places that are wrong by a third, inside a broad one: cells that are much wider than what falls at their
// end.
TEST(LineDistribution, CellsThatAreWideForTheirDensity) {
  RandomStream random(1);
  double quantile = 0, interval = 0, moment = 0, mode = 0;
  for (int i = 0; i < 300; ++i) {
    const double m = random.normal(), s = std::exp(random.normal() - 1);
    const TrueScores scores(
        [&](uint32_t, std::span<const float> y) { return truths::log_normal(y[0], m, s); },
        {{1, {m + 0.3 * s * random.normal()}, {s * std::exp(0.4 * random.normal())}}, {0.01, {0}, {3}}});
    const PredictiveNodes nodes = conditional_quadrature(scores)[0];
    const LineDistribution line = one(nodes, -m / s, 1 / s);
    quantile = std::max({quantile, std::abs(line.quantile(0.005) + 2.5758293),
                         std::abs(line.quantile(0.95) - 1.6448536), std::abs(line.quantile(0.5))});
    const std::vector<Interval> hdi = line.highest_density(0.9);
    ASSERT_EQ(hdi.size(), 1u);
    interval = std::max({interval, std::abs(hdi[0].from + 1.6448536), std::abs(hdi[0].to - 1.6448536)});
    moment = std::max({moment, std::abs(line.mean()), std::abs(line.deviation() - 1)});
    ASSERT_EQ(line.modes().size(), 1u);
    mode = std::max(mode, std::abs(line.modes()[0]));
  }
  EXPECT_LE(quantile, 1.5e-3);
  EXPECT_LE(interval, 1e-3);
  EXPECT_LE(moment, 1e-3);
  EXPECT_LE(mode, 1e-2);
}

TEST(LineDistribution, MonotoneAndInvertible) {
  for (const double precision : {0.1, 1e-2, 1e-5}) {
    const LineDistribution line = one(nodes_of({{0.5, -1, 0.02}, {0.5, 1, 0.7}}, precision));
    double before = 0;
    for (int i = 0; i <= 4000; ++i) {
      const double f = line.cdf(-6 + i * 0.003);
      EXPECT_GE(f, before - 1e-15);
      before = f;
    }
    EXPECT_EQ(before, 1);
    double q = -INFINITY;
    for (int i = 1; i < 500; ++i) {
      const double level = i / 500.0, now = line.quantile(level);
      EXPECT_GE(now, q);
      EXPECT_NEAR(line.cdf(now), level, 1e-12);
      q = now;
    }
  }
}

TEST(LineDistribution, ModesAndPieces) {
  const LineDistribution line = one(nodes_of({{0.5, -2, 0.3}, {0.3, 2, 0.3}, {0.2, 0, 1}}));
  const std::vector<double> modes = line.modes();
  ASSERT_EQ(modes.size(), 3u);
  EXPECT_NEAR(modes[0], -2, 0.01);
  EXPECT_NEAR(modes[1], 2, 0.02);
  EXPECT_NEAR(modes[2], 0, 0.02);
  EXPECT_EQ(line.highest_density(0.7).size(), 2u);
  EXPECT_EQ(one(nodes_of({{0.99, 0, 1}, {0.01, 3, 0.5}})).modes().size(), 1u);
}

// 2 exp(-2y) on the half line: the highest-density interval and the mode are at the wall.
TEST(LineDistribution, MassAtAWall) {
  const TrueScores scores([](uint32_t, std::span<const float> y) { return -2.0 * y[0]; },
                          truths::kStandardPlace, Support::box({0}, {INFINITY}));
  const PredictiveNodes nodes = conditional_quadrature(scores)[0];
  const LineDistribution line = one(nodes, 1, 3);
  EXPECT_NEAR(line.mean(), 1 + 3 * 0.5, 1e-3);
  EXPECT_NEAR(line.quantile(0.5), 1 + 3 * std::log(2) / 2, 1e-4);
  ASSERT_EQ(line.modes().size(), 1u);
  EXPECT_EQ(line.modes()[0], 1);
  const std::vector<Interval> hdi = line.highest_density(0.8);
  ASSERT_EQ(hdi.size(), 1u);
  EXPECT_EQ(hdi[0].from, 1);
  EXPECT_NEAR(hdi[0].to, 1 - 3 * std::log(0.2) / 2, 1e-3);
  EXPECT_EQ(line.cdf(0.999), 0);
  EXPECT_GE(line.quantile(1e-9), 1);
  EXPECT_EQ(line.region().from, 1);
}

TEST(LineDistribution, PlateausHaveOneModeAndIntervalsOfTheirLevel) {
  const TrueScores scores([](uint32_t, std::span<const float>) { return 1.0; }, truths::kStandardPlace,
                          Support::box({0}, {2}));
  const PredictiveNodes nodes = conditional_quadrature(scores)[0];
  const LineDistribution line = one(nodes);
  EXPECT_EQ(line.modes().size(), 1u);
  double mass = 0;
  for (const Interval& part : line.highest_density(0.8)) mass += (part.to - part.from) / 2;
  EXPECT_NEAR(mass, 0.8, 1e-6);
  EXPECT_NEAR(line.crps(2), 2.0 / 3, 1e-9);
}

TEST(LineDistribution, EnsemblesAreMixtures) {
  const PredictiveNodes a = nodes_of({{1, -1, 0.1}}), b = nodes_of({{1, 1, 1}});
  const PredictiveNodes* const members[] = {&a, &b};
  const LineDistribution line = LineDistribution::of(members, 0, 1, 0, 1);
  const std::vector<NormalPart> both = {{0.5, -1, 0.1}, {0.5, 1, 1}};
  EXPECT_NEAR(line.mean(), 0, 1e-5);
  EXPECT_NEAR(line.deviation(), std::sqrt(1 + 0.5 * 1.01), 1e-4);
  for (const double y : {-2.0, -1.1, -0.9, 0.0, 2.0}) {
    EXPECT_NEAR(line.cdf(y), normal_cdf((y + 1) / 0.1) / 2 + normal_cdf(y - 1) / 2, 2e-5);
    EXPECT_NEAR(line.crps(y), mixture_crps(both, y), 1e-5);
    EXPECT_NEAR(line.log_density(y), log_mixture(y, both), 1e-2) << y;
  }
}

TEST(LineDistribution, MarginalsOfMoreDimensions) {
  const double r = 0.6;
  for (const uint32_t d : {2u, 3u}) {
    const TrueScores scores(
        [&](uint32_t, std::span<const float> y) {
          double s = truths::log_normal(y[0], 1, 0.5) + truths::log_normal(y[1], r * y[0], 0.8);
          if (d == 3) s += truths::log_normal(y[2], 0, 1);
          return s;
        },
        {{1, std::vector<double>(d, 0.5), std::vector<double>(d, 0.8)}});
    const PredictiveNodes nodes = conditional_quadrature(scores, {.precision = 1e-3})[0];
    const PredictiveNodes* const members[] = {&nodes};
    const LineDistribution first = LineDistribution::of(members, 0, d, 0, 1);
    const LineDistribution second = LineDistribution::of(members, 1, d, 10, 2);
    const double sd = std::sqrt(0.64 + r * r * 0.25);
    EXPECT_NEAR(first.mean(), 1, 1e-3);
    EXPECT_NEAR(first.deviation(), 0.5, 1e-3);
    EXPECT_NEAR(second.mean(), 10 + 2 * r, 2e-3);
    EXPECT_NEAR(second.deviation(), 2 * sd, 2e-3);
    EXPECT_NEAR(first.quantile(0.95), 1 + 0.5 * 1.6448536, 2e-3);
    EXPECT_NEAR(second.quantile(0.25), 10 + 2 * (r - sd * 0.6744898), 4e-3);
    EXPECT_EQ(second.modes().size(), 1u) << d;
    EXPECT_EQ(second.highest_density(0.8).size(), 1u);
  }
}

TEST(LineDistribution, LevelsAreChecked) {
  const LineDistribution line = one(nodes_of({{1, 0, 1}}));
  for (const double level : {0.0, 1.0, -0.1, 2.0, std::nan("")}) {
    EXPECT_THROW(line.quantile(level), Error);
    EXPECT_THROW(line.highest_density(level), Error);
  }
}

}  // namespace
}  // namespace selfnorm
