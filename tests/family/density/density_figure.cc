#include "family/density/density_figure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "family/density/shown_density.h"

namespace selfnorm {
namespace {

double normal_density(double x, double mean) {
  return std::exp(-std::pow((x - mean) / 2, 2) / 2 - log_normal_volume(2));
}

TEST(DensityFigure, HeatOfTwoColumnsIsTheDensityWhateverBIs) {
  const DensityModel model = shown_normal(2, 0.7);
  const auto data = normal_points(2, 2000);
  ASSERT_TRUE(has_density_figure(model));
  const ReportFigure figure =
      density_figure(model, {2 * log_normal_volume(1), "log Z"}, density_points(model, *data, 3));
  EXPECT_EQ(figure.id, "density");
  const Panel& panel = figure.figure.panels[0];
  ASSERT_EQ(panel.heat.value.size(), 96u * 96u);
  const double dx = (*panel.x.high - *panel.x.low) / 96, dy = (*panel.y.high - *panel.y.low) / 96;
  double total = 0;
  for (size_t j = 0; j < 96; ++j) {
    for (size_t i = 0; i < 96; ++i) {
      const double x = *panel.x.low + dx * (static_cast<double>(i) + 0.5);
      const double y = *panel.y.low + dy * (static_cast<double>(j) + 0.5);
      const double p = normal_density(x, 0) * normal_density(y, 10);
      const double shown = panel.heat.amount(panel.heat.value[96 * j + i]);
      EXPECT_NEAR(shown, std::min(p, panel.heat.most), 4e-4 * panel.heat.most);
      total += shown * dx * dy;
    }
  }
  EXPECT_NEAR(total, 1, 0.02);  // the axes end where 0.5% of the data are beyond, and a tenth later
  ASSERT_EQ(panel.series.size(), 2u);
  EXPECT_EQ(panel.series[0].x.size(), 500u);
  EXPECT_EQ(panel.series[1].x.size(), 500u);
}

TEST(DensityFigure, LineOfOneColumnIsTheDensity) {
  const DensityModel model = shown_normal(1);
  const auto data = normal_points(1, 300);
  const ReportFigure figure =
      density_figure(model, {log_normal_volume(1), "log Z"}, density_points(model, *data, 3));
  const Panel& panel = figure.figure.panels[0];
  ASSERT_EQ(panel.series.size(), 3u);
  EXPECT_EQ(panel.series[0].stroke, Stroke::bars);
  const Series& line = panel.series[2];
  ASSERT_EQ(line.x.size(), 400u);
  for (size_t i = 0; i < line.x.size(); ++i)
    EXPECT_NEAR(line.y[i], normal_density(line.x[i], 0), 1e-5) << line.x[i];
}

// p(0) = 1/(1 + e), p(1) = e/(1 + e).
TEST(DensityFigure, WholeNumbersHaveMarks) {
  const SmallEnergy energy = cycle(1, 2, 1, 0);
  const DensityModel model = small_model(energy, std::make_shared<SmallUniform>(energy.support()));
  const auto data = fair_bits(1, 100);
  const double log_z = std::log1p(std::exp(1));
  const ReportFigure figure = density_figure(model, {log_z, "log Z"}, density_points(model, *data, 3));
  const Series& marks = figure.figure.panels[0].series.back();
  EXPECT_EQ(marks.stroke, Stroke::line_points);
  EXPECT_EQ(marks.x, (std::vector<double>{0, 1}));
  EXPECT_NEAR(marks.y[1], std::exp(1 - log_z), 1e-5);
  EXPECT_NEAR(marks.y[0], std::exp(-log_z), 1e-5);
}

// Outside of the support there is no density.
TEST(DensityFigure, BeyondABoundTheHeatIsWhite) {
  const Support box = Support::box({-1, -1}, {1, 1});
  const SmallEnergy energy = quadratic({0, 0}, {1, 1}, 0, box);
  const DensityModel model = small_model(energy, std::make_shared<SmallUniform>(box));
  const auto data = make_point_source(2, {-1, -1, 1, 1, 0, 0});
  const ReportFigure figure = density_figure(model, {0, "b"}, density_points(model, *data, 3));
  EXPECT_EQ(figure.figure.panels[0].heat.value[0], 0);
  EXPECT_GT(figure.figure.panels[0].heat.value[96 * 48 + 48], 0.5);
}

}  // namespace
}  // namespace selfnorm
