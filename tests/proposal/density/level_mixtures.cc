#include <gtest/gtest.h>

#include <cmath>

#include "math/parallel.h"
#include "proposal/density/density_checks.h"
#include "proposal/density/product_mixture.h"
#include "proposal/density/tree_mixture.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// All points of small levels.
std::vector<float> all_points(const std::vector<uint32_t>& levels) {
  std::vector<float> rows, row(levels.size());
  while (true) {
    rows.insert(rows.end(), row.begin(), row.end());
    size_t j = 0;
    for (; j < levels.size() && ++row[j] == static_cast<float>(levels[j]); ++j) row[j] = 0;
    if (j == levels.size()) return rows;
  }
}

void expect_sums_to_one(const Density& q) {
  double sum = 0;
  for (const double l : log_probs(q, all_points(q.support().levels))) sum += std::exp(l);
  EXPECT_NEAR(sum, 1, 1e-9);
  std::vector<float> outside(q.dimension(), 0);
  for (const float value : {0.5f, -1.0f, static_cast<float>(q.support().levels[0])}) {
    outside[0] = value;
    EXPECT_EQ(log_prob_at(q, outside), -INFINITY);
  }
}

// Shares of all points among many draws, against their probabilities: Pearson's statistic.
void expect_draws(const Density& q) {
  const std::vector<float> points = all_points(q.support().levels);
  const size_t d = q.dimension(), cells = points.size() / d, n = 40000;
  std::vector<float> rows(n * d);
  sample_density(q, 9, rows, {});
  const std::vector<double> log_q = log_probs(q, points);
  double statistic = 0;
  for (size_t c = 0; c < cells; ++c) {
    size_t seen = 0;
    for (size_t i = 0; i < n; ++i)
      seen += std::equal(rows.begin() + static_cast<std::ptrdiff_t>(i * d),
                         rows.begin() + static_cast<std::ptrdiff_t>((i + 1) * d),
                         points.begin() + static_cast<std::ptrdiff_t>(c * d));
    const double expected = static_cast<double>(n) * std::exp(log_q[c]);
    statistic += std::pow(static_cast<double>(seen) - expected, 2) / expected;
  }
  const auto freedom = static_cast<double>(cells - 1);  // 4 standard deviations
  EXPECT_LT(statistic, freedom + 4 * std::sqrt(2 * freedom));
}

std::vector<float> lumps(uint64_t n, uint32_t d) {
  RandomStream random(1);
  std::vector<float> rows;
  for (uint64_t i = 0; i < n; ++i) {
    const bool side = random.uniform() < 0.3;
    for (uint32_t j = 0; j < d; ++j) rows.push_back(side != (random.uniform() < 0.1) ? 1.0f : 0.0f);
  }
  return rows;
}

Support three_columns() {
  Support support;
  support.space = Support::Space::levels;
  support.levels = {2, 4, 3};
  return support;
}

std::vector<float> dependent_rows(uint64_t n) {
  RandomStream random(2);
  std::vector<float> rows;
  for (uint64_t i = 0; i < n; ++i) {
    const auto a = static_cast<float>(random.below(2)), b = random.uniform() < 0.8 ? 2 * a : 3.0f;
    rows.insert(rows.end(), {a, b, random.uniform() < 0.7 ? std::min(b, 2.0f) : 1.0f});
  }
  return rows;
}

TEST(ProductMixture, SumsToOneIsDrawnAndStored) {
  const std::vector<float> rows = dependent_rows(400);
  const auto fit = fit_product_mixture({rows.data(), 400, 3}, three_columns(), {.components = 4});
  expect_sums_to_one(*fit.density);
  expect_draws(*fit.density);
  expect_round_trip(*fit.density);
}

TEST(ProductMixture, ExpectationMaximisationNeverFalls) {
  const std::vector<float> rows = dependent_rows(600);
  const auto fit = fit_product_mixture({rows.data(), 600, 3}, three_columns(),
                                       {.components = 6, .iterations = 40, .tolerance = -1});
  ASSERT_EQ(fit.trace.size(), 41u);
  for (size_t i = 1; i < fit.trace.size(); ++i) EXPECT_GE(fit.trace[i], fit.trace[i - 1] - 1e-9) << i;
}

// Rows are all 0 or all 1, each bit flipped with probability 0.1; the entropy of one is known.
TEST(ProductMixture, FindsTwoLumpsForAnyNumberOfThreads) {
  constexpr uint32_t d = 10;
  const std::vector<float> rows = lumps(2000, d);
  const Points points{rows.data(), 2000, d};
  const auto mixture =
      fit_product_mixture(points, Support::binary(d), {.components = 2, .starts = 3}).density;
  double nll = 0;
  for (const double l : log_probs(*mixture, rows)) nll -= l / 2000;
  const double entropy =
      -(0.3 * std::log(0.3) + 0.7 * std::log(0.7)) - d * (0.1 * std::log(0.1) + 0.9 * std::log(0.9));
  EXPECT_NEAR(nll, entropy, 0.1);
  EXPECT_NEAR(std::exp(std::min(mixture->log_weight()[0], mixture->log_weight()[1])), 0.3, 0.03);
  const ThreadLimit limit(1);
  const auto again = fit_product_mixture(points, Support::binary(d), {.components = 2, .starts = 3}).density;
  EXPECT_EQ(log_probs(*mixture, rows), log_probs(*again, rows));
}

TEST(ProductMixture, CountsOfTwoRates) {
  RandomStream random(3);
  std::vector<float> rows;
  for (int i = 0; i < 2000; ++i) {
    const double rate = random.uniform() < 0.5 ? 1 : 12;
    for (int j = 0; j < 3; ++j) {
      double product = random.uniform(), count = 0;
      for (; product > std::exp(-rate); ++count) product *= random.uniform();
      rows.push_back(static_cast<float>(count));
    }
  }
  const auto mixture =
      fit_product_mixture({rows.data(), 2000, 3}, Support::counts(), {.components = 2}).density;
  double sum = 0;
  for (float a = 0; a < 40; ++a)
    for (float b = 0; b < 40; ++b)
      for (float c = 0; c < 40; ++c) sum += std::exp(log_prob_at(*mixture, {a, b, c}));
  EXPECT_NEAR(sum, 1, 1e-6);
  const DensityRecord record = mixture->record();
  const std::vector<double>& mean = record.values.at("mean");
  EXPECT_NEAR(std::min(mean[0], mean[3]), 1, 0.2);
  EXPECT_NEAR(std::max(mean[0], mean[3]), 12, 0.5);
  expect_round_trip(*mixture);
}

TEST(TreeMixture, OneTreeFindsTheChainOfDependence) {
  RandomStream random(4);
  std::vector<float> rows;
  for (int i = 0; i < 3000; ++i) {
    float x = random.uniform() < 0.5 ? 1 : 0;
    for (int j = 0; j < 6; ++j) rows.push_back(x = random.uniform() < 0.15 ? 1 - x : x);
  }
  const auto fit = fit_tree_mixture({rows.data(), 3000, 6}, Support::binary(6), {.prior = 0.1});
  for (const LevelTree::Node& node : fit.density->tree(0).nodes)
    if (node.parent >= 0) {
      EXPECT_EQ(std::abs(static_cast<int64_t>(node.column) - node.parent), 1);
    }
  double nll = 0;
  for (const double l : log_probs(*fit.density, rows)) nll -= l / 3000;
  const double entropy = std::log(2) - 5 * (0.15 * std::log(0.15) + 0.85 * std::log(0.85));
  EXPECT_NEAR(nll, entropy, 0.05);
  expect_sums_to_one(*fit.density);
}

TEST(TreeMixture, MixturesSumToOneRiseAndAreStored) {
  const std::vector<float> rows = dependent_rows(600);
  const auto fit = fit_tree_mixture({rows.data(), 600, 3}, three_columns(),
                                    {.components = 3, .iterations = 20, .tolerance = -1, .prior = 1e-3});
  for (size_t i = 1; i < fit.trace.size(); ++i) EXPECT_GE(fit.trace[i], fit.trace[i - 1] - 1e-3) << i;
  expect_sums_to_one(*fit.density);
  expect_draws(*fit.density);
  expect_round_trip(*fit.density);
}

TEST(TreeMixture, DamagedRecordsAreRefused) {
  const std::vector<float> rows = dependent_rows(100);
  DensityRecord record = fit_tree_mixture({rows.data(), 100, 3}, three_columns()).density->record();
  record.values["parent"][0] = 2;
  EXPECT_THROW(make_density(record, 3), Error);
  record.values.erase("log_share");
  EXPECT_THROW(make_density(record, 3), Error);
}

}  // namespace
}  // namespace selfnorm
