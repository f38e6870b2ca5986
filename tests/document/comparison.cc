#include <gtest/gtest.h>

#include "document/document.h"

namespace selfnorm {
namespace {

ReportDocument run(const std::string& name, double rms, double nll) {
  ReportDocument out{.name = name, .command = "train classifier", .title = name};
  out.notes = {"a note"};
  out.cards = {{"model", "Model", "m of " + name, {}, ""},
               {"rms_log_z", "rms log Z", "r", rms, "exact"},
               {"nll_exact", "NLL, exact", "n", nll, "exact"}};
  const Series diagonal{.name = "calibrated", .x = {0, 1}, .y = {0, 1}, .stroke = Stroke::dashed};
  Panel panel{.title = "",
              .x = {.label = "x", .logarithmic = true, .low = 0, .high = nll},
              .y = {.label = "y", .low = 0},
              .series = {diagonal, {.name = "raw", .x = {0, 1}, .y = {0, rms}}}};
  out.section("Calibration").figures.push_back({"reliability", "Look.", {.title = "R", .panels = {panel}}});
  Table table{.caption = "Worst", .columns = {"input"}};
  table.add({rms});
  out.section("Normalisation").tables.push_back({"worst", "Look.", table});
  return out;
}

TEST(Comparison, OneDocumentIsItself) {
  EXPECT_EQ(document_text(compared({run("a", 1, 2)})), document_text(run("a", 1, 2)));
}

TEST(Comparison, CardsAreRowsOfATable) {
  const ReportDocument out =
      compared({run("a", 1, 2), run("b", 3, 4), {.name = "c", .command = "", .title = ""}});
  const Table& table = out.sections.at(0).tables.at(0).table;
  EXPECT_EQ(table.columns, (std::vector<std::string>{"report", "Model", "rms log Z", "NLL, exact"}));
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(std::get<std::string>(table.rows[1][1]), "m of b");
  EXPECT_EQ(std::get<double>(table.rows[1][2]), 3);
  EXPECT_EQ(std::get<std::string>(table.rows[2][2]), "");
}

TEST(Comparison, TradeOffHasThePointsOfThoseThatHaveBoth) {
  const ReportDocument out =
      compared({run("a", 1, 2), run("b", 3, 4), {.name = "c", .command = "", .title = ""}});
  const Panel& panel = out.sections.at(0).figures.at(0).figure.panels.at(0);
  ASSERT_EQ(panel.series.size(), 2u);
  EXPECT_EQ(panel.series[1].name, "b");
  EXPECT_EQ(panel.series[1].x[0], 3);
  EXPECT_EQ(panel.series[1].y[0], 4);
  EXPECT_TRUE(
      compared({run("a", 1, 2), {.name = "c", .command = "", .title = ""}}).sections[0].figures.empty());
}

TEST(Comparison, DifferentDataAreSaid) {
  const auto on = [](const std::string& name, const char* id, const std::string& data) {
    ReportDocument out = run(name, 1, 2);
    out.notes.clear();
    out.cards.push_back({id, "Data", data, {}, ""});
    return out;
  };
  EXPECT_TRUE(
      compared({on("a", "measured_on", "t.csv (01)"), on("b", "measured_on", "t.csv (01)")}).notes.empty());
  const auto notes =
      compared({on("a", "measured_on", "t.csv (01)"), on("b", "measured_on", "t.csv (02)")}).notes;
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("different data"), std::string::npos);
  EXPECT_NE(notes[0].find("a: t.csv (01); b: t.csv (02)"), std::string::npos) << notes[0];
  // The name of a file may stay and its content change, or the other way round.
  EXPECT_EQ(compared({on("a", "data_hash", "01"), on("b", "data_hash", "02")}).notes.size(), 1u);
  EXPECT_TRUE(compared({on("a", "data_hash", "01"), on("b", "data_hash", "01")}).notes.empty());
}

TEST(Comparison, FiguresAreDrawnIntoEachOtherAndWhatIsTheSameOnce) {
  const ReportDocument out = compared({run("a", 1, 2), run("b", 3, 4)});
  const Panel& panel = out.sections.at(1).figures.at(0).figure.panels.at(0);
  ASSERT_EQ(panel.series.size(), 3u);
  EXPECT_EQ(panel.series[0].name, "calibrated");
  EXPECT_EQ(panel.series[1].name, "a");
  EXPECT_EQ(panel.series[2].name, "b");
  EXPECT_NE(panel.series[1].colour, panel.series[2].colour);
  EXPECT_EQ(panel.x.high, 4);
  EXPECT_EQ(panel.y.high, std::nullopt);
}

TEST(Comparison, SeriesOfDifferentNamesKeepThem) {
  ReportDocument b = run("b", 3, 4);
  b.sections[0].figures[0].figure.panels[0].series[1].name = "amortised";
  const ReportDocument out = compared({run("a", 1, 2), b});
  const std::vector<Series>& series = out.sections.at(1).figures.at(0).figure.panels.at(0).series;
  ASSERT_EQ(series.size(), 3u);
  EXPECT_EQ(series[1].name, "a: raw");
  EXPECT_EQ(series[2].name, "b: amortised");
}

TEST(Comparison, AxesOfDifferentThingsStandSideBySide) {
  ReportDocument b = run("b", 3, 4);
  b.sections[0].figures[0].figure.panels[0].y.label = "z";
  EXPECT_EQ(compared({run("a", 1, 2), b}).sections.at(1).figures.at(0).figure.panels.size(), 2u);
}

TEST(Comparison, PicturesStandSideBySide) {
  ReportDocument a = run("a", 1, 2), b = run("b", 3, 4);
  for (ReportDocument* document : {&a, &b}) {
    Panel& panel = document->sections[0].figures[0].figure.panels[0];
    panel.heat = {.columns = 1, .rows = 1, .value = {1}};
  }
  const ReportDocument out = compared({a, b});
  const std::vector<Panel>& panels = out.sections.at(1).figures.at(0).figure.panels;
  ASSERT_EQ(panels.size(), 2u);
  EXPECT_EQ(panels[1].title, "b");
}

TEST(Comparison, NotesThatAreTheSameAreOne) {
  ReportDocument b = run("b", 3, 4);
  b.notes = {"z", "another", "a note", "z"};
  const ReportDocument out = compared({run("a", 1, 2), b, run("c", 5, 6)});
  EXPECT_EQ(out.notes, (std::vector<std::string>{"a, b, c: a note", "b: z", "b: another"}));
}

TEST(Comparison, NoDocumentHasTheColourOfWhatAllShare) {
  std::vector<ReportDocument> documents;
  for (int i = 0; i < 10; ++i) documents.push_back(run(std::string(1, static_cast<char>('a' + i)), i, i + 1));
  const ReportDocument out = compared(documents);
  const std::vector<Series>& series = out.sections.at(1).figures.at(0).figure.panels.at(0).series;
  ASSERT_EQ(series.size(), 11u);
  EXPECT_EQ(series[0].name, "calibrated");
  EXPECT_EQ(series[0].colour, 7u);
  const std::vector<uint32_t> expected{0, 1, 2, 3, 4, 5, 6, 8, 0, 1};
  const std::vector<Series>& trade = out.sections.at(0).figures.at(0).figure.panels.at(0).series;
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(series[i + 1].colour, expected[i]);
    EXPECT_EQ(trade.at(i).colour, expected[i]);
  }
}

TEST(Comparison, ColoursStayWhereEverythingIsShared) {
  const ReportDocument out = compared({run("a", 1, 2), run("b", 1, 2)});
  const std::vector<Series>& series = out.sections.at(1).figures.at(0).figure.panels.at(0).series;
  ASSERT_EQ(series.size(), 2u);
  EXPECT_EQ(series[0].colour, 0u);
}

// Documents whose figure has `panels[i]` panels with heat.
size_t rows_of_pictures(const std::vector<size_t>& panels) {
  std::vector<ReportDocument> documents;
  for (const size_t count : panels) {
    documents.push_back(run("a", 1, 2));
    Figure& figure = documents.back().sections[0].figures[0].figure;
    figure.panels[0].heat = {.columns = 1, .rows = 1, .value = {1}};
    figure.panels.resize(count, figure.panels[0]);
  }
  return compared(documents).sections.at(1).figures.at(0).figure.rows;
}

TEST(Comparison, FewPicturesAreInARow) {
  EXPECT_EQ(rows_of_pictures({1, 1}), 1u);
  EXPECT_EQ(rows_of_pictures({1, 1, 1}), 1u);
  EXPECT_EQ(rows_of_pictures({1, 1, 1, 1}), 2u);
  EXPECT_EQ(rows_of_pictures({1, 1, 1, 1, 1, 1}), 2u);
  EXPECT_EQ(rows_of_pictures({2, 2}), 2u);
  EXPECT_EQ(rows_of_pictures({3, 3, 3, 3, 3}), 5u);
  EXPECT_EQ(rows_of_pictures({1, 2, 1}), 2u);
  EXPECT_EQ(rows_of_pictures({1, 1, 1, 1, 1}), 1u);  // the page breaks it
}

TEST(Comparison, TablesHaveTheNameInFront) {
  ReportDocument b = run("b", 3, 4);
  b.sections[1].tables[0].table.columns = {"another"};
  const ReportDocument out = compared({run("a", 1, 2), run("c", 5, 6), b});
  const std::vector<ReportTable>& tables = out.sections.at(2).tables;
  ASSERT_EQ(tables.size(), 2u);
  ASSERT_EQ(tables[0].table.rows.size(), 2u);
  EXPECT_EQ(std::get<std::string>(tables[0].table.rows[1][0]), "c");
  EXPECT_EQ(std::get<double>(tables[0].table.rows[1][1]), 5);
  EXPECT_EQ(tables[1].table.columns, (std::vector<std::string>{"report", "another"}));
}

TEST(Comparison, NamesAreDifferent) {
  const ReportDocument out = compared({run("a", 1, 2), run("a", 1, 2), run("a", 1, 2)});
  const Table& table = out.sections.at(0).tables.at(0).table;
  EXPECT_EQ(std::get<std::string>(table.rows[1][0]), "a (2)");
  EXPECT_EQ(std::get<std::string>(table.rows[2][0]), "a (3)");
  EXPECT_EQ(out.notes, (std::vector<std::string>{"a, a (2), a (3): a note"}));
}

}  // namespace
}  // namespace selfnorm
