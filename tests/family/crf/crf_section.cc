#include "family/crf/crf_section.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "family/crf/crf_evaluation.h"
#include "small_crfs.h"

namespace selfnorm {
namespace {

ReportDocument document_of(const CrfModel& model, const Sequences& data, RowsPart part = RowsPart::kNone) {
  ReportDocument out{.name = "run", .command = "train crf", .title = "t"};
  const CrfEvaluation evaluation = evaluate_crf(model, data);
  const CrfAudit errors = audit_crf(model, data, {});
  add_crf({model, errors, &evaluation, "raw", "validation sentences", part}, out);
  return out;
}

const ReportCard& sentence_card(const ReportDocument& document, const std::string& id) {
  return *std::ranges::find(document.cards, id, &ReportCard::id);
}

bool has_sentence_card(const ReportDocument& document, const std::string& id) {
  return std::ranges::find(document.cards, id, &ReportCard::id) != document.cards.end();
}

TEST(CrfSection, HasCardsAndFigures) {
  const test::CrfPlan plan;
  const CrfModel model = test::random_crf(plan);
  const Sequences data = test::random_sequences(plan);
  const ReportDocument document = document_of(model, data);
  EXPECT_EQ(sentence_card(document, "inputs").number, 20);
  double log_z = 0;
  for (uint64_t i = 0; i < data.sentences(); ++i) log_z += test::enumerated_log_z(model, data, i);
  EXPECT_NEAR(
      sentence_card(document, "nll_exact").number.value() - sentence_card(document, "nll_raw").number.value(),
      log_z / 20, 1e-5);
  EXPECT_FALSE(has_sentence_card(document, "span_f1"));
  ASSERT_EQ(document.sections.size(), 1u);
  const ReportSection& section = document.sections[0];
  EXPECT_EQ(section.figures[0].id, "log_z_histogram");
  ASSERT_EQ(section.figures[1].id, "log_z_by_length");
  const std::vector<Series>& series = section.figures[1].figure.panels[0].series;
  EXPECT_EQ(series[0].x, (std::vector<double>{1, 2, 4}));  // of sentences of up to 5 tokens
  EXPECT_TRUE(document.notes.empty());
}

// Levels by length need no labels, and steps of normalisation have a line each.
TEST(CrfSection, LengthsWithoutLabelsAndStepByStep) {
  const test::CrfPlan plan;
  const CrfModel model = test::random_crf(plan);
  const CrfAudit errors = audit_crf(model, test::random_sequences(plan), {});
  ReportDocument document{.name = "n", .command = "normalize", .title = "t"};
  add_crf({model, errors, nullptr, "raw", "sentences", RowsPart::kNone}, document);
  EXPECT_TRUE(has_sentence_card(document, "rms_log_z_per_token"));
  EXPECT_TRUE(has_sentence_card(document, "variance"));
  EXPECT_FALSE(has_sentence_card(document, "accuracy"));
  EXPECT_EQ(document.sections.at(0).figures.at(1).id, "log_z_by_length");
  add_length_states({{"before", errors.by_length}, {"lossless", errors.by_length}}, document);
  const ReportFigure& figure = document.sections[0].figures.at(2);
  EXPECT_EQ(figure.id, "log_z_by_length_states");
  ASSERT_EQ(figure.figure.panels.size(), 2u);
  ASSERT_EQ(figure.figure.panels[0].series.size(), 2u);
  EXPECT_EQ(figure.figure.panels[0].series[1].name, "lossless");
  EXPECT_EQ(figure.figure.panels[1].series[0].y.at(0), errors.by_length[0].rms_per_token);
}

TEST(CrfSection, AmortisedBesideRaw) {
  const test::CrfPlan plan;
  CrfModel model = test::random_crf(plan);
  const Sequences data = test::random_sequences(plan);
  const ReportDocument raw = document_of(model, data);
  EXPECT_FALSE(has_sentence_card(raw, "nll_amortised"));
  model.normalizer = {.exists = true, .per_position = 0.5, .per_sentence = 0.25, .slope = {}};
  const ReportDocument both = document_of(model, data);
  EXPECT_EQ(sentence_card(both, "nll_raw").number, sentence_card(raw, "nll_raw").number);
  const double b = 0.25 + 0.5 * static_cast<double>(data.positions()) / 20;
  EXPECT_NEAR(sentence_card(both, "nll_amortised").number.value(),
              sentence_card(raw, "nll_raw").number.value() + b, 1e-9);
  EXPECT_EQ(sentence_card(both, "rms_log_z").label, "rms log Z of a sentence");
  ReportDocument less_b{.name = "n", .command = "audit", .title = "t"};
  add_crf({model, audit_crf(model, data, {.amortised = true}), nullptr, "amortised", "sentences",
           RowsPart::kNone},
          less_b);
  EXPECT_EQ(sentence_card(less_b, "rms_log_z").label, "rms log Z - b of a sentence");
  EXPECT_EQ(less_b.sections.at(0).figures.at(1).figure.panels[0].y.label, "log Z - b, in nats");
}

TEST(CrfSection, SpansByType) {
  const test::CrfPlan plan;
  CrfModel model = test::random_crf(plan);
  model.encoder.labels = {"O", "B-X", "I-X"};
  ReportDocument document = document_of(model, test::random_sequences(plan));
  EXPECT_TRUE(has_sentence_card(document, "span_f1"));
  const Table& table = document.section("Spans").tables.at(0).table;
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(std::get<std::string>(table.rows[0][0]), "X");
  EXPECT_EQ(std::get<std::string>(table.rows[1][0]), "all");
}

TEST(CrfSection, SaysWhatPartTheSentencesHad) {
  const test::CrfPlan plan;
  const CrfModel model = test::random_crf(plan);
  const Sequences data = test::random_sequences(plan);
  EXPECT_NE(document_of(model, data, RowsPart::kTrained).notes.at(0).find("trained"), std::string::npos);
  EXPECT_NE(document_of(model, data, RowsPart::kChoseStep).notes.at(0).find("chose"), std::string::npos);
}

}  // namespace
}  // namespace selfnorm
