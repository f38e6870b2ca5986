#include "document/point_cloud.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

PointCloud cloud_of(std::vector<double> x, std::vector<double> y) {
  PointCloud out{.name = "inputs", .x = std::move(x), .y = std::move(y), .example = {}};
  for (size_t i = 0; i < out.x.size(); ++i) out.example.push_back(10 + i);
  return out;
}

Panel empty_panel(bool logarithmic_x = false) {
  return {.title = "",
          .x = {.label = "norm", .logarithmic = logarithmic_x},
          .y = {.label = "error"},
          .series = {}};
}

// The counts behind the shades.
std::vector<double> counts_of(const Heat& heat) {
  std::vector<double> out;
  for (const double v : heat.value) out.push_back(std::round(heat.amount(v)));
  return out;
}

double total(const std::vector<double>& v) { return std::accumulate(v.begin(), v.end(), 0.0); }

TEST(PointCloud, FewPointsAreDrawnAsTheyAre) {
  Panel panel = empty_panel();
  draw_cloud(cloud_of({1, 2, 4}, {-1, 0.5, 3}), panel);
  EXPECT_TRUE(panel.heat.value.empty());
  ASSERT_EQ(panel.series.size(), 1u);
  const Series& points = panel.series[0];
  EXPECT_EQ(points.stroke, Stroke::points);
  EXPECT_EQ(points.name, "inputs");
  EXPECT_EQ(points.x, (std::vector<double>{1, 2, 4}));
  EXPECT_EQ(points.y, (std::vector<double>{-1, 0.5, 3}));
  EXPECT_EQ(points.labels, (std::vector<std::string>{"input 10", "input 11", "input 12"}));
  EXPECT_EQ(panel.x.label, "norm");
  EXPECT_NEAR(*panel.x.low, 1 - 0.09, 1e-12);
  EXPECT_NEAR(*panel.y.high, 3 + 0.12, 1e-12);
}

TEST(PointCloud, RangesThatAreGivenStay) {
  Panel panel = empty_panel();
  panel.x.low = 0;
  draw_cloud(cloud_of({1, 2}, {0, 1}), panel);
  EXPECT_EQ(*panel.x.low, 0);
  EXPECT_NEAR(*panel.x.high, 2.03, 1e-12);
}

TEST(PointCloud, OneInputAndIdenticalInputsHaveARange) {
  for (const size_t n : {size_t{1}, size_t{7}, size_t{5000}})
    for (const double value : {0.0, -3.0, 1e-20}) {
      Panel panel = empty_panel();
      draw_cloud(cloud_of(std::vector<double>(n, value), std::vector<double>(n, value)), panel);
      EXPECT_LT(*panel.x.low, value);
      EXPECT_GT(*panel.x.high, value);
      EXPECT_LT(*panel.y.low, value);
      EXPECT_GT(*panel.y.high, value);
      EXPECT_EQ(panel.series.size(), n > kMostDrawn ? 0u : 1u);
      if (n <= kMostDrawn) continue;
      EXPECT_EQ(total(counts_of(panel.heat)), static_cast<double>(n));
      EXPECT_EQ(panel.heat.most, static_cast<double>(n));
      EXPECT_EQ(panel.x.label, "norm");
    }
}

// x = 0 .. n-1 and y = x: the median of a bin of equal count lies on the diagonal, and so do the counts.
TEST(PointCloud, ManyPointsAreCounted) {
  const size_t n = 16000;
  std::vector<double> x(n);
  std::iota(x.begin(), x.end(), 0.0);
  Panel panel = empty_panel();
  draw_cloud(cloud_of(x, x), panel);
  ASSERT_EQ(panel.heat.columns, 48u);
  ASSERT_EQ(panel.heat.rows, 32u);
  EXPECT_EQ(panel.heat.label, "inputs");
  const std::vector<double> counts = counts_of(panel.heat);
  EXPECT_EQ(total(counts), static_cast<double>(n));
  EXPECT_EQ(*std::max_element(panel.heat.value.begin(), panel.heat.value.end()), 1);
  EXPECT_NEAR(*panel.x.low, 0.005 * 15999, 1e-9);
  EXPECT_NEAR(*panel.x.high, 0.995 * 15999, 1e-9);
  for (size_t r = 0; r < 32; ++r)
    for (size_t c = 0; c < 48; ++c) {
      const double low = std::max(static_cast<double>(r) / 32, static_cast<double>(c) / 48);
      const double high = std::min(static_cast<double>(r + 1) / 32, static_cast<double>(c + 1) / 48);
      EXPECT_TRUE(high >= low || counts[r * 48 + c] == 0);
    }
  // 0 .. 79 lie below 79.995 and 15920 .. 15999 above 15919.005: 80 at each end.
  EXPECT_EQ(panel.x.label, "norm (160 beyond, counted at the edges)");
  EXPECT_EQ(panel.y.label, "error (160 beyond, counted at the edges)");
  ASSERT_EQ(panel.series.size(), 2u);
  const Series &band = panel.series[0], &median = panel.series[1];
  EXPECT_EQ(band.stroke, Stroke::region);
  EXPECT_EQ(median.stroke, Stroke::line);
  ASSERT_EQ(median.x.size(), 16u);
  ASSERT_EQ(band.x.size(), 32u);
  for (size_t b = 0; b < 16; ++b) {
    EXPECT_NEAR(median.x[b], 1000.0 * static_cast<double>(b) + 499.5, 1e-9);
    EXPECT_NEAR(median.y[b], median.x[b], 1e-9);
    EXPECT_EQ(band.x[b], median.x[b]);
    EXPECT_EQ(band.x[31 - b], median.x[b]);
    EXPECT_NEAR(band.y[b], std::min(1000.0 * static_cast<double>(b) + 0.95 * 999, *panel.y.high), 1e-9);
    EXPECT_NEAR(band.y[31 - b], std::max(1000.0 * static_cast<double>(b) + 0.05 * 999, *panel.y.low), 1e-9);
  }
}

TEST(PointCloud, CellsOfALogarithmicAxisHaveEqualRatios) {
  std::vector<double> x, y;
  for (int i = 0; i < 4800; ++i) {
    x.push_back(std::exp2((i % 48 + 0.5) / 4));  // one of every cell of [1, 2^12] in turn
    y.push_back(i % 2);
  }
  Panel panel = empty_panel(true);
  panel.x.low = 1;
  panel.x.high = 4096;
  draw_cloud(cloud_of(x, y), panel);
  const std::vector<double> counts = counts_of(panel.heat);
  for (size_t c = 0; c < 48; ++c) EXPECT_EQ(counts[c] + counts[31 * 48 + c], 100);
}

// Three values of x: three bins, whatever their number would be.
TEST(PointCloud, EqualValuesStayInOneBin) {
  std::vector<double> x, y;
  for (int i = 0; i < 6000; ++i) {
    x.push_back(i % 3);
    y.push_back(100.0 * (i % 3) + i / 3 % 101);
  }
  Panel panel = empty_panel();
  draw_cloud(cloud_of(x, y), panel);
  const Series& median = panel.series[1];
  EXPECT_EQ(median.x, (std::vector<double>{0, 1, 2}));
  for (size_t b = 0; b < 3; ++b) EXPECT_NEAR(median.y[b], 100.0 * static_cast<double>(b) + 50, 1);
}

TEST(PointCloud, LogarithmicWhereTheLargestIsManyTimesTheSmallest) {
  EXPECT_TRUE(spans_decades({1, 31}));
  EXPECT_FALSE(spans_decades({1, 30}));
  EXPECT_FALSE(spans_decades({0, 31}));
  EXPECT_FALSE(spans_decades({-1, 31}));
  EXPECT_FALSE(spans_decades({}));
  const ShownRange range = shown_range({5, 5}, true);
  EXPECT_GT(range.low, 0);
  EXPECT_TRUE(range.holds(5));
}

TEST(PointCloud, RefusesWhatHasNoPlace) {
  Panel panel = empty_panel(), logarithmic = empty_panel(true);
  EXPECT_THROW(draw_cloud(cloud_of({}, {}), panel), Bug);
  EXPECT_THROW(draw_cloud(cloud_of({1, 2}, {1}), panel), Bug);
  EXPECT_THROW(draw_cloud(cloud_of({1}, {NAN}), panel), Bug);
  EXPECT_THROW(draw_cloud(cloud_of({INFINITY}, {1}), panel), Bug);
  EXPECT_THROW(draw_cloud(cloud_of({0}, {1}), logarithmic), Bug);
}

}  // namespace
}  // namespace selfnorm
