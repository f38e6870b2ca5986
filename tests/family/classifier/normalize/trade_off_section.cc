#include "family/classifier/normalize/trade_off_section.h"

#include <gtest/gtest.h>

namespace selfnorm {
namespace {

const ReportFigure& figure_of(ReportDocument& document) {
  EXPECT_EQ(document.sections.size(), 1u);
  const ReportFigure& figure = document.section("Normalisation").figures.at(0);
  EXPECT_EQ(figure.id, "trade_off");
  EXPECT_TRUE(figure.look.ends_with("."));
  EXPECT_TRUE(figure.figure.panels.at(0).x.logarithmic);
  return figure;
}

TEST(TradeOffSection, PathBoundsAndTheModelItself) {
  ReportDocument document;
  add_trade_off(TradeOff{.examples = 7,
                         .rms = 0.25,
                         .uniform = 1.5,
                         .path = {{0.5, 0.1, 0.7}, {1, 2, 0}},
                         .bounds = {{0.1, 1.4, 9}, {0.5, 1.3, 1.2}, {2, 1.0, 0.9}}},
                document);
  const ReportFigure& shown = figure_of(document);
  const std::vector<Series>& series = shown.figure.panels[0].series;
  ASSERT_EQ(series.size(), 4u);
  EXPECT_EQ(series[0].x, (std::vector<double>{0.1, 2}));
  EXPECT_EQ(series[0].y, (std::vector<double>{0.7, 0}));
  EXPECT_EQ(series[0].labels, (std::vector<std::string>{"scores times 0.5", "scores times 1"}));
  EXPECT_EQ(series[1].y, (std::vector<double>{1.4, 1.3, 1.0}));
  EXPECT_EQ(series[1].stroke, Stroke::dashed);
  EXPECT_EQ(series[2].x, (std::vector<double>{0.5, 2}));  // above the uniform model a bound says nothing
  EXPECT_EQ(series[2].y, (std::vector<double>{1.2, 0.9}));
  EXPECT_EQ(series[3].x, std::vector<double>{0.25});
  EXPECT_EQ(series[3].y, std::vector<double>{0});
  EXPECT_EQ(shown.figure.title, "What normalisation can cost, on 7 examples");
}

TEST(TradeOffSection, WhatSaysNothingIsNotThere) {
  ReportDocument document;
  add_trade_off(TradeOff{.examples = 1, .rms = 0, .uniform = 1, .path = {{1, 2, 0}}, .bounds = {{2, 0.5, 3}}},
                document);
  EXPECT_EQ(figure_of(document).figure.panels[0].series.size(), 2u);
}

TEST(TradeOffSection, Retraining) {
  RetrainResult result;
  result.start = {0, 0.8, 0};
  result.trade = {{0.1, 0.4, 0.01}, {1, 0.2, 0.05}};
  result.chosen = {0.5, 0.3, 0.02, true};
  ReportDocument document;
  add_trade_off(result, document);
  const std::vector<Series>& series = figure_of(document).figure.panels[0].series;
  ASSERT_EQ(series.size(), 3u);
  EXPECT_EQ(series[0].x, (std::vector<double>{0.2, 0.4, 0.8}));
  EXPECT_EQ(series[0].y, (std::vector<double>{0.05, 0.01, 0}));
  EXPECT_EQ(series[0].labels[0], "alpha 1");
  EXPECT_EQ(series[2].name, "chosen");
  EXPECT_EQ(series[2].labels[0], "alpha 0.5, between two solutions");
  EXPECT_NE(document.sections[0].figures[0].look.find("KL"), std::string::npos);
}

}  // namespace
}  // namespace selfnorm
