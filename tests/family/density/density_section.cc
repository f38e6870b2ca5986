#include "family/density/density_section.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "family/density/density_figure.h"
#include "family/density/shown_density.h"
#include "math/parallel.h"

namespace selfnorm {
namespace {

ReportDocument document_of(const DensityModel& model, const PointSource& data,
                           RowsPart part = RowsPart::kNone) {
  ReportDocument out{.name = "run", .command = "train density", .title = "t"};
  const DensityEvaluation evaluation = evaluate_density(model, data, {.seed = 2});
  add_density({model, data, evaluation, "validation rows", part, 2}, out);
  return out;
}

const ReportCard& card(const ReportDocument& document, const std::string& id) {
  return *std::ranges::find(document.cards, id, &ReportCard::id);
}

TEST(DensitySection, HasCardsAndFigures) {
  const DensityModel model = shown_normal(2, 0.25);
  const auto data = normal_points(2, 400);
  const ReportDocument document = document_of(model, *data);
  EXPECT_NEAR(card(document, "b_minus_log_z").number.value(), 0.25, 1e-3);
  // Entropy of two normal columns of deviation 2, within five standard errors.
  EXPECT_NEAR(card(document, "nll_exact").number.value(), 2 * log_normal_volume(2) + 1, 0.25);
  EXPECT_NEAR(card(document, "nll_raw").number.value(), card(document, "nll_exact").number.value() + 0.25,
              2e-3);
  EXPECT_NE(card(document, "nll_exact").source.find("quadrature"), std::string::npos);
  EXPECT_EQ(card(document, "outside").number, 0);
  EXPECT_EQ(card(document, "samples").value, "good");
  ASSERT_EQ(document.sections.size(), 1u);
  EXPECT_EQ(document.sections[0].figures[0].id, "density");
  EXPECT_EQ(document.sections[0].figures[1].id, "normalizer_estimates");
  EXPECT_TRUE(document.notes.empty());
  for (const ReportFigure& figure : document.sections[0].figures) EXPECT_FALSE(figure.look.empty());
}

// Half of the rows are censored at 0: figures have them above it, and not all at one place.
TEST(DensitySection, RowsWithIntervalsAreNoData) {
  const DensityModel model = shown_normal(1);
  std::vector<float> values;
  IntervalRows intervals;
  RandomStream random(7);
  for (uint64_t i = 0; i < 400; ++i) {
    const double x = 2 * random.normal();
    values.push_back(static_cast<float>(std::min(x, 0.0)));
    if (x > 0) intervals[i] = {{0, 0, HUGE_VALF}};
  }
  const uint64_t censored = intervals.size();
  const auto data = make_point_source(1, std::move(values), {}, {}, {}, std::move(intervals));
  const DensityPoints points = density_points(model, *data, 3);
  EXPECT_EQ(points.completed, censored);
  EXPECT_EQ(std::ranges::count(points.data, 0.0f), 0);
  // The mean beyond 0 of the proposal, N(0, 2.4^2), within five standard errors.
  double sum = 0;
  for (uint64_t i = 0; i < 400; ++i)
    if (!data->intervals(i).empty()) sum += static_cast<double>(points.data[i]);
  EXPECT_NEAR(sum / static_cast<double>(censored), 2.4 * std::sqrt(2 / M_PI), 0.6);
  const ReportDocument document = document_of(model, *data);
  EXPECT_NE(document.notes[0].find(fmt::format("{} of the rows shown have intervals", censored)),
            std::string::npos);
  EXPECT_NE(card(document, "nll_exact").source.find("(95%) of the masses of intervals"), std::string::npos);
}

TEST(DensitySection, SaysWhatPartTheRowsHad) {
  for (const uint32_t columns : {1u, 2u, 3u}) {
    const DensityModel model = shown_normal(columns);
    const auto data = normal_points(columns, 100);
    const ReportDocument checked = document_of(model, *data, RowsPart::kChoseStep);
    ASSERT_EQ(checked.notes.size(), 1u);
    EXPECT_NE(checked.notes[0].find("a little optimistic"), std::string::npos);
    EXPECT_TRUE(document_text(checked).find("training data") == std::string::npos);
    EXPECT_TRUE(document_text(checked).find("\"name\":\"held-out data\"") != std::string::npos);
    const ReportDocument trained = document_of(model, *data, RowsPart::kTrained);
    ASSERT_EQ(trained.notes.size(), 1u);
    EXPECT_NE(trained.notes[0].find("trained on the rows shown"), std::string::npos);
    EXPECT_TRUE(document_text(trained).find("held-out") == std::string::npos);
    EXPECT_TRUE(document_text(trained).find("\"name\":\"training data\"") != std::string::npos);
  }
}

TEST(DensitySection, IsTheSameForAnyThreads) {
  const DensityModel model = shown_normal(4);
  const auto data = normal_points(4, 100);
  const auto text = [&](int threads) {
    const ThreadLimit limit(threads);
    return document_text(document_of(model, *data));
  };
  const std::string one = text(1);
  EXPECT_EQ(one, text(2));
  EXPECT_NE(one.find("\"samples\""), std::string::npos);
}

TEST(DensitySection, RowsOutsideHaveNoLikelihood) {
  const Support box = Support::box({-1}, {1});
  const DensityModel model = small_model(quadratic({0}, {1}, 0, box), std::make_shared<SmallUniform>(box));
  const ReportDocument document = document_of(model, *make_point_source(1, {0, 0.5, 5}));
  EXPECT_EQ(card(document, "outside").number, 1);
  EXPECT_FALSE(card(document, "nll_exact").number.has_value());
  EXPECT_FALSE(card(document, "nll_raw").number.has_value());
  ASSERT_FALSE(document.notes.empty());
  EXPECT_EQ(document.sections[0].figures.size(), 2u);
}

}  // namespace
}  // namespace selfnorm
