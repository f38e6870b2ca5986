// Mass at a bound of the support, much narrower than the places say.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "math/random.h"
#include "normalizer/quadrature/conditional_quadrature.h"
#include "normalizer/quadrature/conditional_truths.h"
#include "proposal/conditional/truncated_normal.h"

namespace selfnorm {
namespace {

using truths::kStandardPlace;
using truths::TrueScores;

// log of (1 - w) e^s + w times the broad density N(0, 3) cut to the support.
double with_broad(double s, double w, double y, double lower, double upper) {
  LogSumExp sum;
  sum.add(std::log(1 - w) + s);
  if (w > 0) sum.add(std::log(w) + TruncatedNormal::of(0, 3, lower, upper).log_density(y));
  return sum.value();
}

void expect_one(const TrueScores& scores, const std::string& what) {
  for (const double precision : {1e-2, 1e-4, 1e-6}) {
    const PredictiveNodes out = conditional_quadrature(scores, {.precision = precision})[0];
    EXPECT_LE(std::abs(out.log_normalizer), out.error) << what << " at " << precision;
    EXPECT_LE(out.error, std::max(precision, 2e-5)) << what << " at " << precision;
    EXPECT_LE(out.evaluations, 2000u) << what << " at " << precision;
  }
}

TEST(ConditionalQuadratureWalls, NormalsCutFarFromTheirMean) {
  for (const double distance : {3.0, 10.0, 30.0, 100.0})
    for (const double scale : {0.05, 1.0})
      for (const double w : {0.0, 0.01, 0.5})
        for (const bool is_upper : {false, true}) {
          const double lower = is_upper ? -2 : 0, upper = is_upper ? 0 : 2;
          const double mean = is_upper ? distance * scale : -distance * scale;
          const TruncatedNormal cut = TruncatedNormal::of(mean, scale, lower, upper);
          const double width = std::min(scale, 3 * scale / distance);
          const auto score = [=](uint32_t, std::span<const float> y) {
            return with_broad(cut.log_density(y[0]), w, y[0], lower, upper);
          };
          const Support support = Support::box({lower}, {upper});
          const std::string what = "distance " + std::to_string(distance) + " scale " +
                                   std::to_string(scale) + " w " + std::to_string(w) +
                                   (is_upper ? " upper" : " lower");
          expect_one(TrueScores(score, {{1 - w, {0}, {width}}, {w, {0}, {3}}}, support), what);
          expect_one(TrueScores(score, {{1 - w, {mean}, {scale}}, {w, {0}, {3}}}, support),
                     what + ", places of the whole normal");
          expect_one(TrueScores(score, kStandardPlace, support), what + ", places wrong");
        }
}

TEST(ConditionalQuadratureWalls, ExponentialsOfAnyWidth) {
  for (double width = 1e-3; width < 1.5; width *= 10)
    for (const double w : {0.0, 0.01, 0.5})
      for (const double end : {1.0, static_cast<double>(INFINITY)}) {
        const double volume = std::log(-width * std::expm1(-end / width));
        const auto score = [=](uint32_t, std::span<const float> y) {
          return with_broad(-y[0] / width - volume, w, y[0], 0, end);
        };
        const std::string what = "width " + std::to_string(width) + " w " + std::to_string(w);
        const Support support = Support::box({0}, {end});
        expect_one(TrueScores(score, kStandardPlace, support), what);
        expect_one(TrueScores(score, {{1, {0.5}, {0.1}}, {0.01, {0}, {3}}}, support),
                   what + ", places inside");
        expect_one(TrueScores(score, {{1, {-5}, {0.3}}}, support), what + ", places outside");
      }
}

// As data that were cut to [0, 1] look: a peak at both walls and something between.
TEST(ConditionalQuadratureWalls, PeaksAtBothWalls) {
  RandomStream random(7);
  for (int i = 0; i < 300; ++i) {
    const double a = std::exp(-10 * random.uniform()), b = std::exp(-10 * random.uniform()),
                 m = random.uniform();
    const TruncatedNormal middle = TruncatedNormal::of(m, 0.1 + random.uniform(), 0, 1);
    const auto score = [=](uint32_t, std::span<const float> y) {
      LogSumExp sum;
      sum.add(std::log(0.3) - y[0] / a - std::log(-a * std::expm1(-1 / a)));
      sum.add(std::log(0.3) - (1 - static_cast<double>(y[0])) / b - std::log(-b * std::expm1(-1 / b)));
      sum.add(std::log(0.4) + middle.log_density(y[0]));
      return sum.value();
    };
    const TrueScores scores(score, {{1, {m}, {0.3}}}, Support::box({0}, {1}));
    const PredictiveNodes out = conditional_quadrature(scores)[0];
    EXPECT_LE(std::abs(out.log_normalizer), out.error) << a << " " << b;
    EXPECT_LE(out.error, 1.2e-4) << a << " " << b;
  }
}

// A place of small weight has a short core; a tilt makes it heavier, and what it has beyond its core lies in
// a cell a hundred times as wide.
TEST(ConditionalQuadratureWalls, PlacesOfWrongWeight) {
  RandomStream random(11);
  int wrong = 0;
  for (int i = 0; i < 500; ++i) {
    const double m = 4 * random.normal(), s = std::exp(-2 - 2 * random.uniform()), w = 0.5 * random.uniform();
    const std::vector<truths::NormalPart> parts = {{w, m, s}, {1 - w, 0, 6}};
    const TrueScores scores(
        [&](uint32_t, std::span<const float> y) { return truths::log_mixture(y[0], parts); },
        {{std::exp(-8 * random.uniform()), {m}, {s}}, {1, {0}, {6}}});
    for (const double precision : {1e-2, 1e-3, 1e-4, 1e-5}) {
      const ConditionalLogZ out = conditional_log_z(scores, {.precision = precision})[0];
      wrong += std::abs(out.value) > out.error;
      EXPECT_LE(out.error, 1.1 * precision);
    }
  }
  EXPECT_LE(wrong, 20);  // 1%
}

TEST(ConditionalQuadratureWalls, ASingularityAtTheWallIsNoFailure) {
  const TrueScores scores([](uint32_t, std::span<const float> y) { return -y[0] - std::log(y[0]) / 2; },
                          kStandardPlace, Support::box({0}, {INFINITY}));
  const ConditionalLogZ out = conditional_log_z(scores)[0];
  EXPECT_LE(std::abs(out.value - std::log(std::numbers::pi) / 2), out.error);
  EXPECT_LE(out.error, 3e-4);
}

}  // namespace
}  // namespace selfnorm
