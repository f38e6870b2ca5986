#include "document/document.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

ReportDocument sample() {
  ReportDocument document{.name = "run", .command = "audit", .title = "An audit"};
  document.notes = {"not certified"};
  document.cards = {{"nll_exact", "NLL, exact", "0.25", 0.25, "exact log Z"},
                    {"model", "model", "m", {}, "", "bad"}};
  Panel panel{.title = "p",
              .x = {.label = "x", .logarithmic = true, .low = 1, .high = 10},
              .y = {.label = "y", .low = 0, .high = 1, .ticks = {"a", "b"}},
              .series = {},
              .equal_units = true};
  panel.series.push_back({.name = "bars",
                          .x = {1, 2},
                          .y = {0.5, NAN},
                          .stroke = Stroke::bars,
                          .colour = 3,
                          .error = {0.1, 0.2},
                          .x_end = {2, 3},
                          .labels = {"<b>", "q"}});
  panel.heat = {.columns = 2, .rows = 1, .value = {0, 0.5}, .label = "inputs", .most = 12};
  document.section("Normalisation")
      .figures.push_back({"fig", "Look here.", {.title = "F", .panels = {panel}, .rows = 1}});
  Table table{.caption = "T", .columns = {"a", "b"}};
  table.add({1.5, "word"});
  table.add({NAN, "\xff"});
  document.section("Normalisation").tables.push_back({"worst", "Look there.", table});
  return document;
}

// The message of the error that `text` gives.
std::string complaint(const std::string& text) {
  try {
    parse_document(text, "a.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string edited(const std::string& pointer, const nlohmann::json& value) {
  nlohmann::json json = nlohmann::json::parse(document_text(sample()));
  json[nlohmann::json::json_pointer(pointer)] = value;
  return json.dump();
}

TEST(Document, SurvivesItsText) {
  const std::string text = document_text(sample());
  EXPECT_EQ(document_text(parse_document(text, "a.json")), text);
  const ReportDocument read = parse_document(text, "a.json");
  const Series& series = read.sections.at(0).figures.at(0).figure.panels.at(0).series.at(0);
  EXPECT_EQ(series.stroke, Stroke::bars);
  EXPECT_TRUE(std::isnan(series.y[1]));
  EXPECT_EQ(series.labels[0], "<b>");
  EXPECT_EQ(std::get<double>(read.sections[0].tables[0].table.rows[0][0]), 1.5);
  EXPECT_EQ(read.cards[0].number, 0.25);
  EXPECT_EQ(read.cards[1].number, std::nullopt);
}

TEST(Document, TextThatIsNotUtf8IsReplaced) {
  const auto json = nlohmann::json::parse(document_text(sample()));
  EXPECT_EQ(json["sections"][0]["tables"][0]["rows"][1][1], "\xEF\xBF\xBD");
}

TEST(Document, NumbersThatAreNotFiniteAreNull) {
  const auto json = nlohmann::json::parse(document_text(sample()));
  EXPECT_TRUE(json["sections"][0]["figures"][0]["panels"][0]["series"][0]["y"][1].is_null());
  EXPECT_TRUE(json["sections"][0]["tables"][0]["rows"][1][0].is_null());
}

TEST(Document, CoordinatesHaveSevenDigits) {
  ReportDocument document = sample();
  document.sections[0].figures[0].figure.panels[0].series[0].x = {1.0 / 3, 2e-9};
  const auto json = nlohmann::json::parse(document_text(document));
  EXPECT_EQ(json["sections"][0]["figures"][0]["panels"][0]["series"][0]["x"].dump(), "[0.3333333,2e-09]");
}

TEST(Document, SectionsWithOneTitleAreOne) {
  ReportDocument document;
  document.section("a").figures.resize(1);
  document.section("b");
  EXPECT_EQ(document.section("a").figures.size(), 1u);
  EXPECT_EQ(document.sections.size(), 2u);
}

TEST(Document, ErrorsSayWhere) {
  EXPECT_EQ(complaint("{"), "a.json: not JSON; expected the data of a report");
  EXPECT_NE(complaint("[]").find("a.json: found an array of 0, expected an object"), std::string::npos);
  EXPECT_NE(complaint("{}").find("an object with \"format\""), std::string::npos);
  EXPECT_NE(complaint(edited("/format", 2)).find("may be older"), std::string::npos);
  EXPECT_NE(complaint(edited("/cards/0/label", 7)).find("a.json: cards[0]: label: found 7, expected a text"),
            std::string::npos);
  const std::string series = "/sections/0/figures/0/panels/0/series/0";
  EXPECT_NE(complaint(edited(series + "/stroke", "wavy")).find("found \"wavy\", expected one of line"),
            std::string::npos);
  EXPECT_NE(complaint(edited(series + "/y", {1})).find("of one length"), std::string::npos);
  EXPECT_NE(complaint(edited(series + "/x_end", nlohmann::json::array())).find("of one length"),
            std::string::npos);
  EXPECT_NE(complaint(edited(series + "/x", {1, "2"})).find("numbers and null only"), std::string::npos);
  EXPECT_NE(complaint(edited(series + "/colour", -1)).find("a whole number from 0"), std::string::npos);
  EXPECT_NE(complaint(edited("/sections/0/figures/0/panels/0/heat/rows", 5)).find("columns x rows"),
            std::string::npos);
  EXPECT_NE(complaint(edited("/sections/0/figures/0/panels", nlohmann::json::array())).find("one or more"),
            std::string::npos);
  EXPECT_NE(complaint(edited("/sections/0/tables/0/rows/0", {1})).find("2 cells"), std::string::npos);
}

}  // namespace
}  // namespace selfnorm
