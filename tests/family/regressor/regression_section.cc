#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "family/regressor/regression_pictures.h"
#include "family/regressor/shown_rows.h"

namespace selfnorm::test {
namespace {

const ReportCard* target_card(const ReportDocument& document, const std::string& id) {
  const auto found = std::ranges::find(document.cards, id, &ReportCard::id);
  return found == document.cards.end() ? nullptr : &*found;
}

std::vector<std::string> figure_ids(const ReportDocument& document) {
  std::vector<std::string> out;
  for (const ReportSection& section : document.sections)
    for (const ReportFigure& figure : section.figures) {
      out.push_back(figure.id);
      EXPECT_FALSE(figure.look.empty()) << figure.id;
    }
  return out;
}

TEST(RegressionSection, HasCardsAndFigures) {
  const LineRows line(500);
  ReportDocument document{.name = "run", .command = "train regressor", .title = "t"};
  add_regression(line.shown(), line.evaluation(), {.data = "test rows"}, document);
  EXPECT_EQ(figure_ids(document), (std::vector<std::string>{"fan", "heat", "profile", "pit", "coverage",
                                                            "log_z_histogram", "normalizer"}));
  // Entropy of a normal distribution of deviation 2; its CRPS is 2 / sqrt(pi).
  EXPECT_NEAR(target_card(document, "nll_exact")->number.value(), std::log(2) + 0.918938533 + 0.5, 0.16);
  EXPECT_NEAR(target_card(document, "crps")->number.value(), 2 / std::sqrt(M_PI), 0.2);
  EXPECT_NEAR(target_card(document, "rmse")->number.value(), 2, 0.35);
  EXPECT_NEAR(target_card(document, "coverage_90")->number.value(), 0.9, 0.07);
  EXPECT_EQ(target_card(document, "rms_log_z")->number, 0);
  EXPECT_EQ(target_card(document, "nll_amortised")->number, target_card(document, "nll_exact")->number);
  EXPECT_NE(target_card(document, "certificate")->value.find("99% confidence"), std::string::npos);
  EXPECT_TRUE(document.notes.empty());
}

TEST(RegressionSection, RowsOfTrainingCertifyNothing) {
  const LineRows line(500);
  ReportDocument trained, chosen;
  add_regression(line.shown(), line.evaluation(), {"training rows", RowsPart::kTrained}, trained);
  EXPECT_EQ(target_card(trained, "certificate")->value, "none: the model was trained on these rows");
  EXPECT_FALSE(target_card(trained, "certificate")->number.has_value());
  ASSERT_EQ(trained.notes.size(), 1u);
  add_regression(line.shown(), line.evaluation(), {"validation rows", RowsPart::kChoseStep}, chosen);
  EXPECT_NE(target_card(chosen, "certificate"), nullptr);
  ASSERT_EQ(chosen.notes.size(), 1u);
}

TEST(RegressionSection, InputsWithoutTargetsHaveNoLikelihood) {
  const Regressor model = random_regressor({});
  const Frame frame = small_frame(40);
  EncodingReport report;
  const EncodedFrame inputs = model.encoder.encode(frame, report);
  ReportDocument document;
  add_regression_inputs({model, frame, inputs, {}}, audit_normalizer(model, inputs.view(), {}), {"small.csv"},
                        document);
  EXPECT_EQ(figure_ids(document),
            (std::vector<std::string>{"fan", "heat", "profile", "log_z_histogram", "normalizer"}));
  EXPECT_EQ(target_card(document, "nll_exact"), nullptr);
  EXPECT_GT(target_card(document, "rms_log_z")->number.value(), 0);
  EXPECT_NE(target_card(document, "certificate")->value.find("too few"), std::string::npos);
  EXPECT_NE(target_card(document, "certificate")->source.find("holds if the inputs are independent"),
            std::string::npos);
  ReportDocument trained;
  add_regression_inputs({model, frame, inputs, {}}, audit_normalizer(model, inputs.view(), {}),
                        {"small.csv", RowsPart::kTrained}, trained);
  EXPECT_EQ(target_card(trained, "certificate")->value, "none: the model was trained on these rows");
  EXPECT_EQ(trained.notes.size(), 1u);
}

// Ensembles have several targets, and targets outside of everything an infinite likelihood that is no number.
TEST(RegressionSection, EnsemblesOfSeveralTargets) {
  const Regressor model = random_regressor({.dimension = 2, .members = 2});
  const Frame frame = small_frame(8);
  EncodingReport report;
  const EncodedFrame inputs = model.encoder.encode(frame, report);
  std::vector<double> target(16, 0.5);
  target[3] = 1e30;
  ReportDocument document;
  add_regression({model, frame, inputs, target}, evaluate_regressor(model, inputs.view(), target, {}),
                 {.data = "small.csv"}, document);
  EXPECT_EQ(target_card(document, "nll_exact")->value, "infinite");
  EXPECT_FALSE(target_card(document, "nll_exact")->number.has_value());
  EXPECT_NE(target_card(document, "model")->value.find("2 members"), std::string::npos);
  EXPECT_EQ(document.section("Predictions").tables[0].table.rows.size(), 2u);
}

}  // namespace
}  // namespace selfnorm::test
