#include "proposal/density/composed.h"

#include <gtest/gtest.h>

#include <cmath>

#include "proposal/density/choose_density.h"
#include "proposal/density/density_checks.h"
#include "proposal/density/elliptical.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

std::unique_ptr<Density> standard_normal(uint32_t dimension) {
  std::vector<float> rows;
  RandomStream random(2);
  for (uint64_t i = 0; i < 4000 * dimension; ++i) rows.push_back(static_cast<float>(random.normal()));
  return fit_density("gaussian", {rows.data(), 4000, dimension});
}

Truncated half_plane() { return {standard_normal(2), Support::box({0, -1}, {kNone, 1}), 7}; }

TEST(Truncated, HasItsMassInTheBox) {
  const Truncated q = half_plane();
  EXPECT_NEAR(q.log_mass(), std::log(0.5 * std::erf(std::sqrt(0.5))), 0.03);  // of the fitted one
  EXPECT_NEAR(grid_integral(q, -8, 8, 800), 1, 2e-2);
  EXPECT_LT(q.log_error(), 0.01);
  EXPECT_GT(q.log_error(), 0);
  EXPECT_EQ(log_prob_at(q, {-0.5f, 0}), -kNone);
  EXPECT_EQ(log_prob_at(q, {1, 1.5f}), -kNone);
  expect_derivatives(q, {0.5f, 0.25f}, {1, -0.5f});
  expect_round_trip(q);
}

TEST(Truncated, MassIsThatOfTheInnerDensityWithinItsError) {
  const auto inner = standard_normal(2);
  const Truncated q(standard_normal(2), Support::box({0, -1}, {kNone, 1}), 7);
  double mass = 0;  // of the inner one, by the midpoint rule
  for (int i = 0; i < 400; ++i)
    for (int j = 0; j < 100; ++j)
      mass += std::exp(log_prob_at(*inner, {static_cast<float>(0.02 * (i + 0.5)),
                                            static_cast<float>(-1 + 0.02 * (j + 0.5))})) *
              0.0004;
  EXPECT_NEAR(q.log_mass(), std::log(mass), 4 * q.log_error());
}

TEST(Truncated, DrawsAreInsideAndFollow) {
  const Truncated q(standard_normal(1), Support::box({1}, {kNone}), 1);
  std::vector<float> rows(20000);
  sample_density(q, 3, rows, {});
  double mean = 0;
  for (const float x : rows) {
    EXPECT_GE(x, 1);
    mean += static_cast<double>(x) / 20000;
  }
  EXPECT_NEAR(mean, std::exp(-0.5) / std::sqrt(2 * M_PI) / (1 - normal_cdf(1)), 0.03);
}

TEST(Truncated, WhatCannotBeCutIsRefused) {
  EXPECT_THROW(Truncated(standard_normal(1), Support::box({9}, {10}), 1), Error);
  EXPECT_THROW(Truncated(standard_normal(2), Support::box({0}, {1}), 1), Error);
  DensityRecord record = half_plane().record();
  record.values["mass"] = {1, 0};
  EXPECT_THROW(make_density(record, 2), Error);
}

TEST(Truncated, DrawsEndWhereTheStoredMassIsNotThere) {
  DensityRecord record = half_plane().record();
  record.values["lower"] = {40, 40};
  record.values["upper"] = {41, 41};
  record.values["has_upper"] = {1, 1};
  const auto damaged = make_density(record, 2);
  std::vector<float> rows(4);
  EXPECT_THROW(sample_density(*damaged, 1, rows, {}), Error);
}

// The uniform distribution on a square: what is best for it is in the choice, and nothing has mass outside.
TEST(Truncated, ChoicesInABoxStayInIt) {
  RandomStream random(5);
  std::vector<float> rows;
  for (int i = 0; i < 2400; ++i) rows.push_back(static_cast<float>(random.uniform()));
  ChoiceOptions options;
  options.fit.space = Support::box({0, 0}, {1, 1});
  const DensityChoice choice = choose_density({rows.data(), 1000, 2}, {rows.data() + 2000, 200, 2}, options);
  EXPECT_NEAR(choice.nll, 0, 0.01);
  EXPECT_EQ(log_prob_at(*choice.density, {0.5f, 1.25f}), -kNone);
  EXPECT_EQ(choice.density->support().upper, (std::vector<double>{1, 1}));
  expect_round_trip(*choice.density);
  for (const TriedDensity& tried : choice.tried) EXPECT_LT(tried.nll, 0.5) << tried.word;
}

}  // namespace
}  // namespace selfnorm
