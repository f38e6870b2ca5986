#include <gtest/gtest.h>

#include "document/section/audit_section.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

ErrorAudit audit_of(std::vector<HistogramBin> bins, LogZStatistics log_z) {
  ErrorAudit out;
  out.histogram = std::move(bins);
  out.log_z = log_z;
  return out;
}

ReportDocument with_histogram() {
  ReportDocument out;
  out.section("Normalisation")
      .figures.push_back(
          {.id = "log_z_histogram",
           .look = "Look.",
           .figure = {
               .title = "",
               .panels = {
                   {.title = "",
                    .x = {.label = "", .low = -1, .high = 1},
                    .y = {},
                    .series = {
                        {.name = "inputs", .x = {-1}, .y = {5}, .stroke = Stroke::bars, .x_end = {1}}}}}}});
  return out;
}

TEST(NormalizeSection, EarlierStatesAreOutlines) {
  ReportDocument document = with_histogram();
  document.section("Normalisation").tables.push_back({.id = "worst", .look = "", .table = {}});
  const ErrorAudit before =
      audit_of({{2, 3, 4}, {3, 4, 1}}, {.mean = 2.5, .std = 0.5, .rms = 2.6, .min = 2, .max = 4});
  const ErrorAudit after =
      audit_of({{-1, 1, 5}}, {.mean = -0.0, .std = 0.1, .rms = 0.1, .min = -0.3, .max = 0.2});
  add_states({{"before", &before, {}, {}}, {"lossless", &after, {}, 1.0}}, document);
  const ReportSection& section = document.sections.at(0);
  const Panel& panel = section.figures.at(0).figure.panels.at(0);
  ASSERT_EQ(panel.series.size(), 2u);
  EXPECT_EQ(panel.series[0].name, "lossless");
  EXPECT_EQ(panel.series[1].name, "before");
  EXPECT_EQ(panel.series[1].x, (std::vector<double>{2, 2, 3, 3, 4, 4}));
  EXPECT_EQ(panel.series[1].y, (std::vector<double>{0, 4, 4, 1, 1, 0}));
  EXPECT_EQ(panel.x.low, -1);
  EXPECT_EQ(panel.x.high, 4);
  EXPECT_TRUE(section.figures[0].look.starts_with("Look. Lines are"));
  ASSERT_EQ(section.tables.size(), 2u);
  const Table& table = section.tables[0].table;
  EXPECT_EQ(table.columns.size(), 5u);
  EXPECT_EQ(table.rows[0], (std::vector<Cell>{"before", 2.5, 0.25, 2.6, 4.0}));
  EXPECT_EQ(written(table.rows[1][1]), "0");
  EXPECT_EQ(table.rows[1][4], Cell(0.3));
}

TEST(NormalizeSection, LikelihoodsWhereAllHaveThem) {
  ReportDocument document = with_histogram();
  const ErrorAudit audit = audit_of({{2, 2, 4}}, {});
  add_states({{"before", &audit, 0.5, 1.5}, {"lossless", &audit, 0.25, 1.25}}, document);
  const Table& table = document.sections.at(0).tables.at(0).table;
  EXPECT_EQ(table.columns[5], "rms a token");
  EXPECT_EQ(table.rows[0][5], Cell(0.5));
  EXPECT_EQ(table.columns.back(), "NLL, exact");
  EXPECT_EQ(table.rows[1].back(), Cell(1.25));
  const Series& spike = document.sections[0].figures.at(0).figure.panels.at(0).series.at(1);
  EXPECT_EQ(spike.y, (std::vector<double>{0, 4, 4, 0}));  // all inputs the same: no width
}

TEST(NormalizeSection, NeedsAnAudit) {
  ReportDocument document;
  const ErrorAudit audit = audit_of({{0, 1, 1}}, {});
  EXPECT_THROW(add_states({{"before", &audit, {}, {}}}, document), Bug);
  EXPECT_THROW(add_states({}, document), Bug);
}

}  // namespace
}  // namespace selfnorm
