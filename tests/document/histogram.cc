#include <gtest/gtest.h>

#include <numeric>

#include "document/picture.h"

namespace selfnorm {
namespace {

TEST(Histogram, DensitiesOfAllValuesAddUpToOne) {
  std::vector<double> values;
  for (int i = 0; i < 100; ++i) values.push_back(0.1 * i);
  const Bins bins = real_bins(values, 7);
  EXPECT_LT(bins.low, 0);
  EXPECT_GT(bins.edge(7), 9.9);
  const std::vector<double> density = bin_densities(values, bins);
  EXPECT_NEAR(std::accumulate(density.begin(), density.end(), 0.0) * bins.width, 1, 1e-12);
  const Series bars = histogram_bars("data", values, bins);
  ASSERT_EQ(bars.x.size(), 7u);
  for (size_t k = 0; k < 7; ++k) {
    EXPECT_NEAR(bars.y[k], density[k], 5e-5 * density[k]);
    EXPECT_EQ(bars.x[k], bins.edge(k));
    EXPECT_EQ(bars.x_end[k], bins.edge(k + 1));
  }
  const Series steps = histogram_steps("data", values, bins);
  EXPECT_EQ(steps.x.size(), 14u);
  EXPECT_EQ(steps.y[0], steps.y[1]);
}

// An outlier does not stretch the bins, and counts among the values.
TEST(Histogram, WhatLiesBeyondTheBinsIsMissingFromThem) {
  std::vector<double> values(999, 0);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % 10);
  values.push_back(1e6);
  const Bins bins = real_bins(values, 20);
  EXPECT_LT(bins.edge(20), 20);
  const std::vector<double> density = bin_densities(values, bins);
  EXPECT_NEAR(std::accumulate(density.begin(), density.end(), 0.0) * bins.width, 0.999, 1e-12);
}

TEST(Histogram, WholeNumbersHaveABinEach) {
  const std::vector<double> values{2, 3, 3, 5};
  const Bins bins = whole_bins(values, 100);
  EXPECT_EQ(bins.low, 1.5);
  EXPECT_EQ(bins.width, 1);
  EXPECT_EQ(bins.count, 4u);
  EXPECT_EQ(bin_densities(values, bins), (std::vector<double>{0.25, 0.5, 0, 0.25}));
  EXPECT_EQ(whole_bins({0, 99}, 10).width, 10);
  EXPECT_EQ(whole_bins({0, 99}, 10).count, 10u);
}

TEST(Histogram, OneValueHasBins) {
  const Bins bins = real_bins({5, 5, 5}, 4);
  EXPECT_LT(bins.low, 5);
  EXPECT_GT(bins.edge(4), 5);
  EXPECT_EQ(whole_bins({7}, 10).count, 1u);
}

}  // namespace
}  // namespace selfnorm
