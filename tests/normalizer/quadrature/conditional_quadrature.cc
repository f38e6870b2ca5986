#include "normalizer/quadrature/conditional_quadrature.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "math/parallel.h"
#include "math/random.h"
#include "normalizer/quadrature/conditional_truths.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

using truths::kStandardPlace;
using truths::log_mixture;
using truths::log_normal;
using truths::NormalPart;
using truths::places_of;
using truths::TrueScores;

struct QuadratureCase {
  std::string name;
  std::function<double(double)> s;
  double log_z;
  std::vector<ConditionalScores::Place> places = kStandardPlace;
  Support support = {};
};

std::vector<QuadratureCase> cases() {
  const std::vector<NormalPart> narrow = {{0.6, 0.3, 1}, {0.4, 0.71, 0.005}};
  const std::vector<NormalPart> hidden = {{0.5, 0, 1}, {0.5, 0.62, 0.1}};
  const std::vector<NormalPart> far = {{0.5, -40, 0.02}, {0.5, 40, 0.02}};
  const double inf = INFINITY;
  return {
      {"normal", [](double y) { return log_normal(y, 0.2, 0.9) + 3; }, 3},
      {"normal, places of half the scale", [](double y) { return log_normal(y, 0, 2); }, 0},
      {"normal, places far away", [](double y) { return log_normal(y, 100, 1); }, 0},
      {"normal, places too narrow", [](double y) { return log_normal(y, 0, 1); }, 0, {{1, {0.3}, {1e-3}}}},
      {"narrow peak that places know", [=](double y) { return log_mixture(y, narrow); }, 0,
       places_of(narrow)},
      {"peak that places do not know", [=](double y) { return log_mixture(y, hidden); }, 0},
      {"two far peaks", [=](double y) { return log_mixture(y, far); }, 0, places_of(far)},
      {"lognormal",
       [](double y) { return y > -1 ? log_normal(std::log1p(y), 0, 0.25) - std::log1p(y) : -INFINITY; }, 0},
      {"gamma(1/2) on the half line", [](double y) { return y > 0 ? -y - std::log(y) / 2 : -INFINITY; },
       std::log(std::sqrt(std::numbers::pi)), kStandardPlace, Support::box({0}, {inf})},
      {"exponential",
       [](double y) { return -3 * y; },
       -std::log(3.0),
       {{1, {-1}, {0.5}}},
       Support::box({0}, {inf})},
      {"mass at the upper wall", [](double y) { return 20 * y; }, 20 + std::log((1 - std::exp(-40)) / 20),
       kStandardPlace, Support::box({-1}, {1})},
      {"uniform", [](double) { return 5.0; }, 5 + std::log(3), kStandardPlace, Support::box({-1}, {2})},
      {"uniform inside the region", [](double y) { return y > -0.37 && y < 0.91 ? 0.0 : -INFINITY; },
       std::log(1.28)},
      {"laplace", [](double y) { return -std::abs(y - 0.123); }, std::log(2)},
      {"logistic", [](double y) { return -std::abs(y) - 2 * std::log1p(std::exp(-std::abs(y))); }, 0},
      {"student 3", [](double y) { return -2 * std::log1p(y * y / 3); },
       std::log(std::sqrt(3) * std::numbers::pi / 2)},
      {"cauchy", [](double y) { return -std::log1p(y * y); }, std::log(std::numbers::pi)},
      {"enormous scores", [](double y) { return log_normal(y, 0, 1) + 1e5; }, 1e5},
  };
}

TEST(ConditionalQuadrature, TheTruthIsWithinTheErrorAndTheErrorIsSmall) {
  for (const QuadratureCase& c : cases())
    for (const double precision : {1e-2, 1e-4, 1e-6}) {
      const TrueScores scores([&](uint32_t, std::span<const float> y) { return c.s(y[0]); }, c.places,
                              c.support);
      const PredictiveNodes out = conditional_quadrature(scores, {.precision = precision})[0];
      EXPECT_LE(std::abs(out.log_normalizer - c.log_z), out.error) << c.name << " at " << precision;
      EXPECT_LE(out.error, std::max(precision, 3e-4)) << c.name << " at " << precision;
    }
}

// Mixtures of 8 components as networks learn them, tilted, with a broad component of weight 0.01.
TEST(ConditionalQuadrature, OrdinaryInputsTakeAFewCells) {
  RandomStream random(1);
  double evaluations = 0, unsure = 0;
  const int inputs = 300;
  for (int i = 0; i < inputs; ++i) {
    std::vector<NormalPart> parts = {{0.01, 0, 3}};
    for (int k = 0; k < 8; ++k)
      parts.push_back({std::exp(2 * random.normal()), random.normal(), 0.1 + 0.5 * random.uniform()});
    const double a = random.normal(), b = random.normal();
    const TrueScores scores(
        [&](uint32_t, std::span<const float> y) {
          return log_mixture(y[0], parts) + a * std::tanh(y[0] - b);
        },
        places_of(parts));
    const PredictiveNodes fast = conditional_quadrature(scores)[0];
    const PredictiveNodes sure = conditional_quadrature(scores, {.precision = 1e-7})[0];
    evaluations += static_cast<double>(fast.evaluations) / inputs;
    EXPECT_LE(std::abs(fast.log_normalizer - sure.log_normalizer), fast.error + sure.error);
    EXPECT_LE(fast.error, 1.5e-4);
    unsure = std::max(unsure, sure.error);
  }
  EXPECT_LE(unsure, 1e-5);
  EXPECT_LE(evaluations, 200);
}

TEST(ConditionalQuadrature, FindsPeaksThatPlacesDoNotAnnounce) {
  RandomStream random(2);
  for (int i = 0; i < 500; ++i) {
    const std::vector<NormalPart> parts = {{0.8, 0, 1},
                                           {0.2, 4 * random.uniform() - 2, 0.1 + random.uniform() / 4}};
    const TrueScores scores([&](uint32_t, std::span<const float> y) { return log_mixture(y[0], parts); },
                            kStandardPlace);
    const ConditionalLogZ out = conditional_log_z(scores)[0];
    EXPECT_LE(std::abs(out.value), out.error) << parts[1].mean << " " << parts[1].sd;
    EXPECT_LE(out.error, 1.1e-4);
  }
}

// Normals much narrower than the broad place around them, with places that are wrong by a third: what is
// beside a core lies in a cell a hundred times as wide.
TEST(ConditionalQuadrature, PlacesThatAreNearlyRight) {
  RandomStream random(1);
  for (int i = 0; i < 1000; ++i) {
    const double m = random.normal(), s = std::exp(random.normal() - 1);
    const auto near = [&](double shift, double stretch) {
      return std::vector<double>{m + shift * s * random.normal(), s * std::exp(stretch * random.normal())};
    };
    const std::vector<double> a = near(0.3, 0.3), b = near(0.5, 0.5);
    const TrueScores scores([&](uint32_t, std::span<const float> y) { return log_normal(y[0], m, s); },
                            {{0.6, {a[0]}, {a[1]}}, {0.4, {b[0]}, {b[1]}}, {0.01, {0}, {3}}});
    const ConditionalLogZ out = conditional_log_z(scores)[0];
    EXPECT_LE(std::abs(out.value), out.error) << i;
    EXPECT_LE(out.error, 1.5e-4) << i;
  }
}

TEST(ConditionalQuadrature, KinksAreAnErrorThatIsReported) {
  RandomStream random(3);
  int wrong = 0;
  for (int i = 0; i < 500; ++i) {
    const double a = 4 * random.uniform() - 2, scale = std::exp(3 * random.uniform() - 3);
    const TrueScores scores([&](uint32_t, std::span<const float> y) { return -std::abs(y[0] - a) / scale; },
                            kStandardPlace);
    const ConditionalLogZ out = conditional_log_z(scores)[0];
    wrong += std::abs(out.value - std::log(2 * scale)) > out.error;
  }
  EXPECT_LE(wrong, 10);
}

TEST(ConditionalQuadrature, JumpsAreAnErrorThatIsReported) {
  RandomStream random(5);
  int wrong = 0;
  for (int i = 0; i < 500; ++i) {
    const double from = 4 * random.uniform() - 2, width = 0.8 + random.uniform();
    const TrueScores scores(
        [&](uint32_t, std::span<const float> y) {
          return y[0] > from && y[0] < from + width ? 0 : -INFINITY;
        },
        kStandardPlace);
    const ConditionalLogZ out = conditional_log_z(scores)[0];
    wrong += std::abs(out.value - std::log(width)) > out.error;
  }
  EXPECT_LE(wrong, 2);
}

TEST(ConditionalQuadrature, NodesAreARuleOverTheDensity) {
  const std::vector<NormalPart> parts = {{0.7, -1, 0.5}, {0.3, 2, 0.1}};
  const TrueScores scores([&](uint32_t, std::span<const float> y) { return log_mixture(y[0], parts) + 7; },
                          places_of(parts));
  const PredictiveNodes out = conditional_quadrature(scores, {.precision = 1e-6})[0];
  const size_t cells = out.edge.size() - 1;
  ASSERT_EQ(out.nodes_per_cell, cell_rule(1).size());
  ASSERT_EQ(out.log_weight.size(), cells * out.nodes_per_cell);
  ASSERT_EQ(out.log_density.size(), out.log_weight.size());
  EXPECT_TRUE(std::is_sorted(out.edge.begin(), out.edge.end()));
  double mass = 0, mean = 0;
  for (size_t i = 0; i < out.log_weight.size(); ++i) {
    const size_t cell = i / out.nodes_per_cell;
    const double y =
        out.edge[cell] + cell_rule(1).node[i % out.nodes_per_cell] * (out.edge[cell + 1] - out.edge[cell]);
    EXPECT_NEAR(out.log_density[i], log_mixture(y, parts), 1e-3);
    const double m = std::exp(out.log_weight[i] + out.log_density[i]);
    mass += m;
    mean += m * y;
  }
  EXPECT_NEAR(mass, 1, 1e-12);
  EXPECT_NEAR(mean, -0.1, 1e-6);
}

TEST(ConditionalQuadrature, NothingIsAskedOutsideTheSupport) {
  const Support support = Support::box({-0.3}, {0.1});  // neither is a float32
  const TrueScores scores(
      [&](uint32_t, std::span<const float> y) { return contains(support, y) ? 3.0 * y[0] : std::nan(""); },
      kStandardPlace, support);
  const PredictiveNodes out = conditional_quadrature(scores, {.precision = 1e-7})[0];
  EXPECT_EQ(out.edge.front(), -0.3);
  EXPECT_EQ(out.edge.back(), 0.1);
  EXPECT_EQ(out.tail, 0);
  EXPECT_NEAR(out.log_normalizer, std::log((std::exp(0.3) - std::exp(-0.9)) / 3), out.error);
}

class ManyRows : public TrueScores {
 public:
  explicit ManyRows(uint64_t rows)
      : TrueScores([](uint32_t i, std::span<const float> y) { return log_normal(y[0], i % 7, 1) + i; },
                   kStandardPlace, {}, rows) {}
};

TEST(ConditionalQuadrature, RowsAreIndependentOfBlocksAndThreads) {
  const ManyRows scores(1100);
  const std::vector<ConditionalLogZ> all = conditional_log_z(scores);
  ASSERT_EQ(all.size(), 1100u);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_NEAR(all[i].value, static_cast<double>(i), all[i].error);
  const ThreadLimit one(1);
  const std::vector<PredictiveNodes> again = conditional_quadrature(scores);
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].value, again[i].log_normalizer);
    EXPECT_EQ(all[i].error, again[i].error);
  }
  EXPECT_EQ(conditional_log_z(ManyRows(3))[2].value, all[2].value);
  EXPECT_TRUE(conditional_log_z(ManyRows(0)).empty());
}

TEST(ConditionalQuadrature, EndsWithTheErrorItHas) {
  const TrueScores scores([](uint32_t, std::span<const float> y) { return log_normal(y[0], 0.3, 1e-3); },
                          kStandardPlace);
  const PredictiveNodes out = conditional_quadrature(scores, {.precision = 1e-6, .most_evaluations = 100})[0];
  EXPECT_LE(out.evaluations, 100u);
  EXPECT_GT(out.error, 1e-3);
}

TEST(ConditionalQuadrature, PlacesThatMakeNoSense) {
  const double nan = std::nan(""), inf = INFINITY;
  const std::vector<std::vector<ConditionalScores::Place>> all = {
      {{1, {nan}, {1}}}, {{1, {0}, {nan}}}, {{nan, {0}, {1}}}, {{1, {inf}, {1}}},  {{1, {0}, {inf}}},
      {{0, {0}, {1}}},   {{1, {0}, {0}}},   {{1, {0}, {-1}}},  {{1, {5}, {1e-30}}}};
  for (size_t i = 0; i < all.size(); ++i) {
    const TrueScores scores([](uint32_t, std::span<const float> y) { return log_normal(y[0], 0, 1); },
                            all[i]);
    const ConditionalLogZ out = conditional_log_z(scores)[0];
    EXPECT_LE(std::abs(out.value), out.error) << i;
    EXPECT_LE(out.error, 1.1e-4) << i;
  }
}

// Places of float32 are too coarse for these: the error has to say so.
TEST(ConditionalQuadrature, WhatCannotBeResolvedHasALargeError) {
  const auto error_of = [](double mean, double sd) {
    const TrueScores scores([=](uint32_t, std::span<const float> y) { return log_normal(y[0], mean, sd); },
                            {{1, {mean}, {sd}}});
    const ConditionalLogZ out = conditional_log_z(scores)[0];
    EXPECT_FALSE(std::isnan(out.value));
    EXPECT_GE(out.error, std::abs(out.value)) << mean << " " << sd;
    return out.error;
  };
  EXPECT_GT(error_of(1e7, 0.3), 0.1);
  EXPECT_GT(error_of(1e20, 0.3), 0.1);
  EXPECT_GT(error_of(2, 1e-7), 0.1);
  EXPECT_LE(error_of(5, 1e-3), 1e-3);
}

std::string failure(const TrueScores& scores) {
  try {
    conditional_log_z(scores, {.first_row = 40});
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(ConditionalQuadrature, FailuresNameTheRow) {
  const auto scores = [](double bad) {
    return TrueScores(
        [=](uint32_t i, std::span<const float> y) { return i == 2 ? bad : log_normal(y[0], 0, 1); },
        kStandardPlace, {}, 3);
  };
  EXPECT_NE(failure(scores(std::nan(""))).find("row 42: the score near"), std::string::npos);
  EXPECT_NE(failure(scores(INFINITY)).find("row 42: the score near"), std::string::npos);
  EXPECT_NE(failure(scores(-INFINITY)).find("row 42: no mass"), std::string::npos);
  EXPECT_NE(failure(scores(1)).find("row 42: exp s does not decay"), std::string::npos);
}

TEST(ConditionalQuadrature, OptionsAreChecked) {
  EXPECT_THROW(conditional_log_z(ManyRows(1), {.precision = 0}), Error);
  EXPECT_THROW(conditional_log_z(ManyRows(1), {.precision = 0.2}), Error);
  EXPECT_THROW(conditional_log_z(ManyRows(1), {.precision = std::nan("")}), Error);
  Support counts;
  counts.space = Support::Space::counts;
  EXPECT_THROW(conditional_log_z(
                   TrueScores([](uint32_t, std::span<const float>) { return 0.0; }, kStandardPlace, counts)),
               Error);
}

}  // namespace
}  // namespace selfnorm
