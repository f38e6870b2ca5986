#include <gtest/gtest.h>

#include "family/density/density_figure.h"
#include "family/density/shown_density.h"

namespace selfnorm {
namespace {

TEST(DensitySamples, EveryColumnHasHistogramsOfDataAndSamples) {
  const std::vector<std::pair<uint32_t, size_t>> panels{{3, 3}, {4, 4}, {5, 4}, {8, 6}};
  for (const auto& [columns, expected] : panels) {
    const DensityModel model = shown_normal(columns);
    const auto data = normal_points(columns, 200);
    const ReportFigure figure = samples_figure(model, density_points(model, *data, 1));
    EXPECT_EQ(figure.id, "samples");
    ASSERT_EQ(figure.figure.panels.size(), expected) << columns;
    EXPECT_EQ(figure.figure.panels.size() % figure.figure.rows, 0u);
    for (const Panel& panel : figure.figure.panels) {
      ASSERT_EQ(panel.series.size(), 2u);
      EXPECT_EQ(panel.series[0].stroke, Stroke::bars);
      double mass = 0;
      for (size_t k = 0; k < panel.series[0].x.size(); ++k)
        mass += panel.series[0].y[k] * (panel.series[0].x_end[k] - panel.series[0].x[k]);
      EXPECT_NEAR(mass, 1, 0.02);
    }
  }
}

// Of fair bits all means are 1/2 and those of products 1/4.
TEST(DensitySamples, LevelsHaveTheirMoments) {
  const SmallEnergy energy = cycle(4, 2, 0, 0);
  const DensityModel model = small_model(energy, std::make_shared<SmallUniform>(energy.support()));
  const auto data = fair_bits(4, 1000);
  DensityPoints points = density_points(model, *data, 1);
  points.data_name = "training data";
  const ReportFigure figure = samples_figure(model, points);
  ASSERT_EQ(figure.figure.panels.size(), 2u);
  for (const Panel& panel : figure.figure.panels) EXPECT_EQ(panel.x.label, "training data");
  const Series& means = figure.figure.panels[0].series[1];
  const Series& pairs = figure.figure.panels[1].series[1];
  ASSERT_EQ(means.x.size(), 4u);
  ASSERT_EQ(pairs.x.size(), 6u);
  // Five standard errors of 500 draws.
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(means.y[i], 0.5, 0.12);
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(pairs.y[i], 0.25, 0.1);
  EXPECT_EQ(pairs.labels[0], "x1, x2");
}

}  // namespace
}  // namespace selfnorm
