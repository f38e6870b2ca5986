#include "family/regressor/regression_pictures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "family/regressor/shown_rows.h"

namespace selfnorm::test {
namespace {

TEST(RegressionPictures, PitCountsAllRows) {
  const LineRows line(300);
  const Picture picture = pit_picture(line.evaluation());
  EXPECT_EQ(picture.name, "pit");
  const Series& bars = picture.figure.panels[0].series[0];
  EXPECT_EQ(bars.stroke, Stroke::bars);
  ASSERT_EQ(bars.x.size(), 20u);
  EXPECT_NEAR(std::accumulate(bars.y.begin(), bars.y.end(), 0.0), 20, 1e-9);
  double rows = 0;
  for (const auto& cells : picture.data.rows) rows += std::get<double>(cells[2]);
  EXPECT_EQ(rows, 300);
}

TEST(RegressionPictures, CoverageOfTheTruthIsItsLevel) {
  const LineRows line(400);
  const Picture picture = coverage_picture(line.evaluation());
  const Series& central = picture.figure.panels[0].series[1];
  ASSERT_EQ(central.x.size(), 101u);
  // Five standard errors of a share of 400.
  for (size_t k = 0; k <= 100; ++k) EXPECT_NEAR(central.y[k], central.x[k], 0.125);
  EXPECT_EQ(central.y[100], 1);
}

// The quantiles of a normal distribution around a line.
TEST(RegressionPictures, FanOfALineIsItsClosedForm) {
  const LineRows line(300);
  const Picture picture = fan_picture(line.shown());
  ASSERT_EQ(picture.data.rows.size(), 250u);
  double last = -HUGE_VAL;
  for (const auto& cells : picture.data.rows) {
    const auto row = static_cast<size_t>(std::get<double>(cells[0]));
    const double mean = 10 + 8 * line.frame.columns[0].number[row];
    EXPECT_EQ(std::get<double>(cells[1]), line.target[row]);
    EXPECT_NEAR(std::get<double>(cells[2]), mean - 2 * 1.959964, 2e-3);
    EXPECT_NEAR(std::get<double>(cells[5]), mean, 2e-3);
    EXPECT_NEAR(std::get<double>(cells[7]), mean + 2 * 1.2815516, 2e-3);
    EXPECT_GE(std::get<double>(cells[5]), last);
    last = std::get<double>(cells[5]);
  }
  const Panel& panel = picture.figure.panels[0];
  ASSERT_EQ(panel.series.size(), 5u);  // three bands, the median, targets
  EXPECT_EQ(panel.series[3].y.size(), 250u);
}

TEST(RegressionPictures, FanWithoutTargetsHasNone) {
  const LineRows line(10);
  const Picture picture = fan_picture(line.without_targets());
  EXPECT_EQ(picture.figure.panels[0].series.size(), 4u);
  EXPECT_EQ(picture.data.columns.size(), 1 + Fan::levels().size());
}

// b and A of a regressor with a tilt, by evaluation and by audit of the same inputs.
TEST(RegressionPictures, NormalizerPairsAreThoseOfTheRows) {
  const Regressor model = random_regressor({});
  const Frame frame = small_frame(40);
  EncodingReport report;
  const EncodedFrame inputs = model.encoder.encode(frame, report);
  const std::vector<double> target(40, 0.2);
  const RegressionEvaluation evaluation = evaluate_regressor(model, inputs.view(), target, {});
  const NormalizerPairs evaluated = evaluated_pairs(evaluation);
  const NormalizerAudit audit = audit_normalizer(model, inputs.view(), {});
  const NormalizerPairs audited = audited_pairs({model, frame, inputs, {}}, audit);
  ASSERT_EQ(evaluated.row.size(), 40u);
  EXPECT_EQ(evaluated.row, audited.row);
  for (size_t i = 0; i < 40; ++i) {
    EXPECT_EQ(evaluated.a[i], evaluation.a[i]);
    EXPECT_NEAR(evaluated.a[i], audited.a[i], 1e-9);
    EXPECT_NEAR(evaluated.b[i], audited.b[i], 1e-9);
  }
  EXPECT_NEAR(evaluated.rms, audited.rms, 1e-9);
  EXPECT_GT(evaluated.rms, 0);
  EXPECT_EQ(normalizer_picture(audited).figure.panels[0].series[1].labels[3], "row 3");
}

}  // namespace
}  // namespace selfnorm::test
