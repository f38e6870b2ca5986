#include <gtest/gtest.h>

#include "family/density/density_section.h"
#include "family/density/shown_density.h"

namespace selfnorm {
namespace {

DensityEvaluation evaluated(const DensityModel& model, const PointSource& data) {
  return evaluate_density(model, data, {.seed = 2});
}

// The intervals of all methods hold the closed form; b is where it is.
TEST(NormalizerEstimates, EveryMethodFindsTheClosedForm) {
  const DensityModel model = shown_normal(2, 0.3);
  const auto data = normal_points(2, 50);
  const ReportFigure figure = normalizer_figure(model, evaluated(model, *data), 2);
  EXPECT_EQ(figure.id, "normalizer_estimates");
  const Panel& panel = figure.figure.panels[0];
  EXPECT_EQ(panel.x.ticks.size(), 3u);
  ASSERT_EQ(panel.series.size(), 2u) << figure.look;
  EXPECT_EQ(panel.series[0].y, (std::vector<double>(2, model.log_normalizer)));
  const Series& found = panel.series[1];
  ASSERT_EQ(found.x, (std::vector<double>{1, 2, 3}));
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(found.y[i], 2 * log_normal_volume(1), found.error[i] + 1e-3) << found.labels[i];
    EXPECT_LT(found.error[i], 0.2) << found.labels[i];
  }
}

TEST(NormalizerEstimates, LevelsAreEnumerated) {
  const SmallEnergy energy = cycle(6, 2, 0.5, 0);
  const DensityModel model = small_model(energy, std::make_shared<SmallUniform>(energy.support()));
  const auto data = fair_bits(6, 50);
  const Panel panel = normalizer_figure(model, evaluated(model, *data), 2).figure.panels[0];
  const double log_z = 6 * std::log1p(std::exp(0.5));
  EXPECT_NEAR(panel.series[1].y[0], log_z, 1e-9);
  EXPECT_EQ(panel.series[1].error[0], 0);
  ASSERT_EQ(panel.series[1].y.size(), 3u);
  for (size_t i = 1; i < 3; ++i)
    EXPECT_NEAR(panel.series[1].y[i], log_z, 2 * panel.series[1].error[i] + 1e-3);
}

// A proposal that misses nearly everything: what it says is drawn apart.
TEST(NormalizerEstimates, WhatIsNotTrustedSaysSo) {
  const DensityModel model = small_model(quadratic(std::vector<double>(3, 6), std::vector<double>(3, 0.1)),
                                         std::make_shared<SmallNormal>(3, 0, 1));
  const auto data = make_point_source(3, {6, 6, 6});
  const Panel panel = normalizer_figure(model, evaluated(model, *data), 2).figure.panels[0];
  const Series& last = panel.series.back();
  EXPECT_EQ(last.name, "log Z, not to be trusted");
  EXPECT_NE(std::find(last.x.begin(), last.x.end(), 2), last.x.end());
}

// Rows outside the support are no reason to doubt log Z.
TEST(NormalizerEstimates, RowsOutsideLeaveTheTrust) {
  const Support box = Support::box({-1}, {1});
  const DensityModel model = small_model(quadratic({0}, {1}, 0, box), std::make_shared<SmallUniform>(box));
  const auto data = make_point_source(1, {0, 5});
  const DensityEvaluation evaluation = evaluated(model, *data);
  EXPECT_FALSE(evaluation.is_trusted);
  EXPECT_TRUE(is_log_z_trusted(model, evaluation));
}

}  // namespace
}  // namespace selfnorm
