#include "proposal/direction/direction_mixture.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "proposal/density/density_checks.h"

namespace selfnorm {
namespace {

constexpr double kPi = std::numbers::pi;

// The midpoint rule over longitude and z.
double sphere_integral(const Density& q, size_t cells) {
  std::vector<float> rows;
  for (size_t i = 0; i < cells; ++i)
    for (size_t j = 0; j < cells; ++j)
      rows.insert(
          rows.end(),
          {static_cast<float>(-kPi + 2 * kPi * (static_cast<double>(i) + 0.5) / static_cast<double>(cells)),
           static_cast<float>(-1 + 2 * (static_cast<double>(j) + 0.5) / static_cast<double>(cells))});
  double sum = 0;
  for (const double l : log_probs(q, rows)) sum += std::exp(l);
  return sum * 4 * kPi / static_cast<double>(cells * cells);
}

TEST(VonMises, ConcentrationInvertsTheMeanLength) {
  for (const double r : {0.01, 0.3, 0.6, 0.9, 0.99}) {
    const double kappa = von_mises_concentration(r, 1e6);
    // The mean of cos under exp(kappa cos x), by the midpoint rule.
    double top = 0, bottom = 0;
    for (int i = 0; i < 2000; ++i) {
      const double x = 2 * kPi * (i + 0.5) / 2000, w = std::exp(kappa * (std::cos(x) - 1));
      top += w * std::cos(x);
      bottom += w;
    }
    EXPECT_NEAR(top / bottom, r, 1e-8);
  }
}

TEST(VonMises, DrawsHaveTheMeanLength) {
  RandomStream random(3);
  for (const double kappa : {0.0, 0.5, 4.0, 200.0}) {
    double c = 0, s = 0;
    for (int i = 0; i < 20000; ++i) {
      const double x = von_mises_draw(random, 2.5, kappa);
      EXPECT_TRUE(x >= -kPi && x < kPi);
      c += std::cos(x - 2.5) / 20000;
      s += std::sin(x - 2.5) / 20000;
    }
    EXPECT_NEAR(von_mises_concentration(std::max(c, 0.0), 1e6), kappa, 0.03 + 0.05 * kappa);
    EXPECT_NEAR(s, 0, 0.03);
  }
}

TEST(DirectionMixture, IntegratesToOneOnTheSphere) {
  const DirectionMixture q(DirectionMap::sphere(), {0, 0.5, -1}, {3, -2, 1, 0, 0, -20, 0, 0, 0});
  EXPECT_NEAR(sphere_integral(q, 500), 1, 1e-3);
  expect_derivatives(q, {0.7f, 0.25f}, {1.0f, 0.5f}, 1e-3);
  expect_round_trip(q);
  EXPECT_EQ(log_prob_at(q, {0, 1.5f}), -INFINITY);
  EXPECT_NEAR(log_prob_at(*uniform_directions(DirectionMap::sphere()), {1, 0.3f}), -std::log(4 * kPi), 1e-9);
}

// E u = (coth kappa - 1 / kappa) mu.
TEST(DirectionMixture, DrawsOfTheSphereHaveTheirMean) {
  const DirectionMixture q(DirectionMap::sphere(), {0}, {3, -2, 6});
  std::vector<float> rows(2 * 40000);
  sample_density(q, 4, rows, {});
  double mean[3] = {};
  for (size_t i = 0; i < rows.size(); i += 2) {
    double u[3];
    DirectionMap::sphere().apply(rows.data() + i, u);
    for (int k = 0; k < 3; ++k) mean[k] += u[k] / 40000;
  }
  const double length = 1 / std::tanh(7.0) - 1 / 7.0;
  EXPECT_NEAR(mean[0], length * 3 / 7, 0.01);
  EXPECT_NEAR(mean[1], -length * 2 / 7, 0.01);
  EXPECT_NEAR(mean[2], length * 6 / 7, 0.01);
}

TEST(DirectionMixture, IntegratesToOneOverAngles) {
  const DirectionMixture q(DirectionMap::angles({true, true}), {0, 1}, {1, 2, -3, 0, 0.5, 0, 0, 8});
  EXPECT_NEAR(grid_integral(q, -kPi, kPi, 200), 1, 1e-5);
  expect_derivatives(q, {0.5f, -2.0f}, {1, -1}, 1e-3);
  expect_round_trip(q);
  const DirectionMixture mixed(DirectionMap::angles({true, false}), {0, 0}, {1, 2, -3, 2, 0.5, 0, 1, 4});
  expect_derivatives(mixed, {0.5f, 0.25f}, {1, -1}, 1e-3);
  expect_round_trip(mixed);
}

// A number beside a column of three levels and an angle.
const DirectionMap kMixed = DirectionMap::mixed({false, false, true}, {0, 3, 0});

TEST(DirectionMixture, SumsToOneOverNumbersAndLevels) {
  const DirectionMixture q(DirectionMap::mixed({false, false}, {0, 3}), {0, 0.7},
                           {1, 2, 0.5, -1, -0.5, 0.7, -2, 1});
  double sum = 0;
  for (float level = 0; level < 3; ++level)
    for (int i = 0; i < 4000; ++i)
      sum += std::exp(log_prob_at(q, {static_cast<float>(-10 + 0.005 * (i + 0.5)), level})) * 0.005;
  EXPECT_NEAR(sum, 1, 1e-5);
  for (const float level : {-1.0f, 0.5f, 3.0f}) EXPECT_EQ(log_prob_at(q, {0, level}), -INFINITY);
  EXPECT_TRUE(q.support().is_mixed());
  expect_round_trip(q);
}

TEST(DirectionMixture, DrawsOfLevelsHaveTheirShares) {
  const DirectionMixture q(kMixed, {0}, {1, 4, std::log(2.0), std::log(0.5), 3, 0});
  std::vector<float> rows(3 * 40000);
  sample_density(q, 4, rows, {});
  double mean = 0, share[3] = {};
  for (size_t i = 0; i < rows.size(); i += 3) {
    mean += static_cast<double>(rows[i]) / 40000;
    share[static_cast<size_t>(rows[i + 1])] += 1.0 / 40000;
    EXPECT_TRUE(contains(q.support(), {rows.data() + i, 3}));
  }
  EXPECT_NEAR(mean, 0.25, 0.01);
  EXPECT_NEAR(share[0], 1 / 3.5, 0.01);
  EXPECT_NEAR(share[1], 2 / 3.5, 0.01);
  EXPECT_NEAR(share[2], 0.5 / 3.5, 0.01);
}

// Two kinds of rows, told apart by no column alone.
std::vector<float> two_kinds(uint64_t rows, double& entropy) {
  RandomStream random(9);
  std::vector<float> out;
  entropy = 0;
  for (uint64_t i = 0; i < rows; ++i) {
    const bool kind = random.uniform() < 0.5;
    const double x = (kind ? 2 : -2) + random.normal();
    const size_t level = random.uniform() < 0.8 ? (kind ? 2 : 0) : 1;
    const double angle = von_mises_draw(random, kind ? kPi : 0, 2);
    out.insert(out.end(), {static_cast<float>(x), static_cast<float>(level), static_cast<float>(angle)});
    const auto of_kind = [&](bool k) {
      const double z = x - (k ? 2 : -2), share = level == 1 ? 0.2 : level == (k ? 2u : 0u) ? 0.8 : 0;
      return 0.5 * share * std::exp(-0.5 * z * z + 2 * std::cos(angle - (k ? kPi : 0))) /
             (std::sqrt(2 * kPi) * 2 * kPi * 2.2795853);  // I_0(2)
    };
    entropy -= std::log(of_kind(true) + of_kind(false)) / static_cast<double>(rows);
  }
  return out;
}

TEST(DirectionMixture, FindsTheKindsOfAMixedTable) {
  double entropy = 0;
  const std::vector<float> rows = two_kinds(4000, entropy);
  const DirectionFit fit = fit_direction_mixture({rows.data(), 4000, 3}, kMixed,
                                                 {.components = 2, .iterations = 40, .tolerance = -1});
  double nll = 0;
  for (const double l : log_probs(*fit.density, rows)) nll -= l / 4000;
  EXPECT_NEAR(nll, entropy, 0.01);
  for (size_t i = 1; i < fit.trace.size(); ++i) EXPECT_GE(fit.trace[i], fit.trace[i - 1] - 1e-3);
}

TEST(DirectionKernels, AreDensitiesOfAMixedTable) {
  double entropy = 0;
  const std::vector<float> rows = two_kinds(200, entropy);
  const auto q = fit_direction_kernels({rows.data(), 200, 3}, kMixed, 8, 1);
  double sum = 0;
  for (float level = 0; level < 3; ++level)
    for (int i = 0; i < 160; ++i)
      for (int j = 0; j < 60; ++j)
        sum += std::exp(log_prob_at(*q, {static_cast<float>(-10 + 0.125 * (i + 0.5)), level,
                                         static_cast<float>(-kPi + kPi / 30 * (j + 0.5))})) *
               0.125 * kPi / 30;
  EXPECT_NEAR(sum, 1, 1e-4);
}

// As many rows as neighbours have: rows^2 x features is bounded.
TEST(DirectionKernels, OfManyWordsStandOnFewRows) {
  const uint32_t levels = 20'001;
  std::vector<float> rows;
  for (uint32_t i = 0; i < 1000; ++i) {
    rows.push_back(static_cast<float>(i % 13));
    rows.push_back(static_cast<float>(i * 20));
  }
  const DirectionMap map = DirectionMap::mixed({false, false}, {0, levels});
  const Points data{rows.data(), 1000, 2};
  const uint32_t k = 3;
  const size_t near = fit_neighbour_kernels(data, map, {&k, 1}, 1).front()->components();
  EXPECT_EQ(near, 199u);
  EXPECT_EQ(fit_direction_kernels(data, map, 2, 1)->components(), near);
}

TEST(DirectionMixture, FindsTwoLumpsAcrossTheCut) {
  RandomStream random(5);
  std::vector<float> rows;
  for (int i = 0; i < 2000; ++i) {
    const bool side = random.uniform() < 0.4;
    rows.push_back(static_cast<float>(von_mises_draw(random, side ? kPi : 0, 30)));
    rows.push_back(static_cast<float>(von_mises_draw(random, side ? 0 : kPi, 10)));
  }
  const DirectionFit fit = fit_direction_mixture({rows.data(), 2000, 2}, DirectionMap::angles({true, true}),
                                                 {.components = 2, .iterations = 30, .tolerance = -1});
  ASSERT_EQ(fit.density->components(), 2u);
  EXPECT_NEAR(std::exp(log_prob_at(*fit.density, {static_cast<float>(-kPi), 0})) /
                  std::exp(log_prob_at(*fit.density, {static_cast<float>(kPi), 0})),
              1, 1e-4);
  double nll = 0;
  for (const double l : log_probs(*fit.density, rows)) nll -= l / 2000;
  // Entropies of von Mises distributions: log(2 pi I_0) - kappa I_1 / I_0.
  EXPECT_NEAR(nll, 0.673 - 0.2746 + 0.2905, 0.08);
  for (size_t i = 1; i < fit.trace.size(); ++i) EXPECT_GE(fit.trace[i], fit.trace[i - 1] - 1e-4);
}

// A narrow lump in a broad one: kernels of one concentration are wrong for one of them.
TEST(DirectionKernels, FollowHowCloseTheRowsLie) {
  const DirectionMixture truth(DirectionMap::sphere(), {0, 0}, {0, 0, 400, 0.5, -1, 0});
  std::vector<float> rows(2 * 1500), others(rows.size());
  sample_density(truth, 6, rows, {});
  sample_density(truth, 7, others, {});
  const Points data{rows.data(), 1500, 2};
  const std::vector<uint32_t> neighbours{4, 12};
  const auto fitted = fit_neighbour_kernels(data, DirectionMap::sphere(), neighbours, 1);
  const auto& followed = fitted.back();
  const auto even = fit_direction_kernels(data, DirectionMap::sphere(), 0, 1);
  EXPECT_NEAR(sphere_integral(*followed, 600), 1, 2e-2);
  double gain = 0;
  const std::vector<double> ours = log_probs(*followed, others), theirs = log_probs(*even, others);
  for (size_t i = 0; i < ours.size(); ++i) gain += (ours[i] - theirs[i]) / 1500;
  EXPECT_GT(gain, 0.05);
  expect_round_trip(*followed);
}

TEST(DirectionKernels, AreDensities) {
  RandomStream random(6);
  std::vector<float> rows;
  for (int i = 0; i < 300; ++i) {
    rows.push_back(static_cast<float>(von_mises_draw(random, 3, 5)));
    rows.push_back(static_cast<float>(0.3 * random.normal() > 0.9 ? 0 : 0.3 * random.uniform()));
  }
  const auto q = fit_direction_kernels({rows.data(), 300, 2}, DirectionMap::sphere(), 0, 1);
  EXPECT_NEAR(sphere_integral(*q, 300), 1, 2e-2);
}

}  // namespace
}  // namespace selfnorm
