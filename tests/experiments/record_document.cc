#include "experiments/record_document.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "experiments/document.h"

namespace selfnorm {
namespace {

Record drawn_record() {
  Record record;
  record.name = "small";
  record.title = "a small record";
  record.paper = "It is said.";
  record.measured = "It is so.";
  record.differences = "None.";
  record.settings = {{"n", "3"}, {"seed", "1"}};
  record.facts = {{"mean_gap", 1.0 / 3}, {"shape", "hump"}, {"rows", 1234567.0}, {"a", 1.0}, {"last", 2.0}};
  record.tables = {{.caption = "first", .columns = {"x", "y"}, .rows = {{1.0 / 3, "text"}, {NAN, "none"}}}};
  record.figure = {.title = "main",
                   .panels = {{.title = "p",
                               .x = {.label = "x", .low = 0, .high = 1},
                               .y = {.label = "y", .low = 0, .high = 1},
                               .series = {{.name = "s", .x = {2.0 / 3, 123456}, .y = {NAN, 1e-7 / 3}}}}}};
  record.figure.panels[0].heat = {.columns = 2, .rows = 1, .value = {1.0 / 3, 1}, .label = "mass", .most = 1};
  record.more_figures = {{"other", record.figure}};
  record.more_figures[0].second.title = "more";
  record.looks = {"Look here."};
  return record;
}

TEST(RecordDocument, HasTheFiguresWithWhatToLookFor) {
  const ReportDocument document = record_document(drawn_record());
  EXPECT_EQ(document.command, "reproduce");
  ASSERT_EQ(document.sections.size(), 1u);
  const ReportSection& section = document.sections[0];
  EXPECT_EQ(section.title, "small: a small record");
  ASSERT_EQ(section.figures.size(), 2u);
  EXPECT_EQ(section.figures[0].id, "small");
  EXPECT_EQ(section.figures[0].look, "Look here.");
  EXPECT_EQ(section.figures[1].id, "small-other");
  EXPECT_EQ(section.figures[1].look, "It is said.");
}

TEST(RecordDocument, NumbersAreShort) {
  const ReportSection section = record_document(drawn_record()).sections[0];
  const Panel& panel = section.figures[0].figure.panels[0];
  EXPECT_EQ(panel.series[0].x, (std::vector<double>{0.66667, 123456}));
  EXPECT_TRUE(std::isnan(panel.series[0].y[0]));
  EXPECT_EQ(panel.series[0].y[1], 3.3333e-8);
  EXPECT_EQ(panel.heat.value, (std::vector<double>{0.333, 1}));
  EXPECT_EQ(std::get<double>(section.tables[1].table.rows[0][0]), 0.33333);
}

TEST(RecordDocument, FirstFactsAreCardsAndAllAreInATable) {
  const ReportDocument document = record_document(drawn_record());
  ASSERT_EQ(document.cards.size(), 4u);
  EXPECT_EQ(document.cards[0].id, "small-mean_gap");
  EXPECT_EQ(document.cards[0].label, "mean gap");
  EXPECT_EQ(document.cards[0].value, "0.3333");
  EXPECT_EQ(document.cards[0].number, 0.33333);
  EXPECT_EQ(document.cards[0].source, "exact log Z");
  EXPECT_EQ(document.cards[1].value, "hump");
  EXPECT_FALSE(document.cards[1].number);
  const ReportTable& facts = document.sections[0].tables[2];
  EXPECT_EQ(facts.id, "small-facts");
  EXPECT_EQ(facts.table.rows.size(), 5u);
}

// Nothing that docs/*.md says is missing.
TEST(RecordDocument, SaysWhatTheDocumentSays) {
  for (const std::string group : {"papers", "density", "regression", "sequences"}) {
    const Record record = drawn_record();
    const ReportDocument document = record_document(record, group);
    std::string words;
    for (const ReportTable& table : document.sections[0].tables) {
      words += table.table.caption + "\n";
      for (const auto& row : table.table.rows)
        for (const Cell& cell : row) words += written(cell) + "\n";
    }
    for (const std::string& part : {record.paper, record.measured, record.differences, group_notation(group),
                                    std::string("first"), std::string("seed"), std::string("text")})
      EXPECT_NE(words.find(part), std::string::npos) << group << ": " << part;
  }
  EXPECT_EQ(group_notation("papers").find('\n'), std::string::npos);
}

TEST(RecordDocument, WithoutFiguresAndFacts) {
  Record record = drawn_record();
  record.figure.panels.clear();
  record.facts.clear();
  record.looks.push_back("And there.");
  const ReportDocument document = record_document(record);
  EXPECT_TRUE(document.cards.empty());
  ASSERT_EQ(document.sections[0].figures.size(), 1u);
  EXPECT_EQ(document.sections[0].figures[0].look, "And there.");
}

TEST(RecordDocument, StandsInTheJsonOfTheRecordOnOneLine) {
  const std::string text = json_text(drawn_record(), 1.5);
  const nlohmann::json json = nlohmann::json::parse(text);
  EXPECT_EQ(json["seconds"], 1.5);
  const ReportDocument read = parse_document(json["report"].dump(), "small.json");
  EXPECT_EQ(document_text(read), document_text(record_document(drawn_record())));
  EXPECT_NE(text.find("\n \"report\": {"), std::string::npos);
}

}  // namespace
}  // namespace selfnorm
