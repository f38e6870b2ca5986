#include "document/figure.h"

#include <gtest/gtest.h>

#include <cmath>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Figure simple_figure() {
  return {.title = "a title",
          .panels = {{.title = "a panel",
                      .x = {.label = "time (s)", .logarithmic = true},
                      .y = {.label = "it's y", .low = 0, .high = 2},
                      .series = {{.name = "one", .x = {1, 2, 3}, .y = {0.5, NAN, 1.5}},
                                 {.name = "", .x = {1}, .y = {1}, .stroke = Stroke::points, .colour = 1}}}}};
}

TEST(Figure, ScriptHoldsEverythingItDraws) {
  const std::string script = gnuplot_script(simple_figure(), "out.svg");
  EXPECT_TRUE(holds(script, "set output 'out.svg'"));
  EXPECT_TRUE(holds(script, "set xlabel 'time (s)'"));
  EXPECT_TRUE(holds(script, "set ylabel 'it''s y'"));
  EXPECT_TRUE(holds(script, "set logscale x"));
  EXPECT_TRUE(holds(script, "unset logscale y"));
  EXPECT_TRUE(holds(script, "set yrange [0:2]"));
  EXPECT_TRUE(holds(script, "1 0.5\n\n3 1.5\n"));  // a gap where a value is not finite
  EXPECT_TRUE(holds(script, "title 'one'"));
  EXPECT_TRUE(holds(script, "notitle"));
  EXPECT_TRUE(holds(script, "background '#ffffff'"));
}

// Ranges in which a unit has the same length: the plot is (860 - 130 - 25) x 400 pixels.
TEST(Figure, EqualUnitsFillThePlot) {
  Figure figure = simple_figure();
  figure.panels[0] = {.title = "",
                      .x = {.label = "x"},
                      .y = {.label = "y"},
                      .series = {{.name = "", .x = {-1, 1}, .y = {-1, 1}}},
                      .equal_units = true};
  const std::string script = gnuplot_script(figure, "out.svg");
  EXPECT_TRUE(holds(script, "set yrange [-1.1:1.1]"));
  EXPECT_TRUE(holds(script, "set xrange [-1.93875:1.93875]"));
}

TEST(Figure, NamesOnAnAxis) {
  Figure figure = simple_figure();
  figure.panels.push_back(figure.panels[0]);
  figure.panels[0].x.ticks = {"snl", "it's"};
  const std::string script = gnuplot_script(figure, "out.svg");
  EXPECT_TRUE(holds(script, "set xtics ('snl' 1, 'it''s' 2)"));
  EXPECT_TRUE(holds(script, "set xtics auto"));
  EXPECT_FALSE(holds(gnuplot_script(simple_figure(), "out.svg"), "xtics"));
}

// 2 x 1 pixels over [0, 4] x [-1, 1]: centres (1, 0) and (3, 0).
TEST(Figure, PictureBehindThePlot) {
  Panel panel{.title = "",
              .x = {.label = "x", .low = 0, .high = 4},
              .y = {.label = "y", .low = -1, .high = 1},
              .series = {},
              .heat = {.columns = 2, .rows = 1, .value = {0, 1}}};
  const std::string script = gnuplot_script({.title = "t", .panels = {panel}}, "out.svg");
  EXPECT_TRUE(holds(script, "0 255\nEOD"));
  EXPECT_TRUE(holds(script, "matrix using (1+2*$1):(0+2*$2):3 with image"));
  panel.x.low = std::nullopt;
  EXPECT_THROW(gnuplot_script({.title = "t", .panels = {panel}}, "out.svg"), Bug);
  panel.heat.value.pop_back();
  EXPECT_THROW(gnuplot_script({.title = "t", .panels = {panel}}, "out.svg"), Bug);
}

// [0, 1] and [1, 3] with heights 2 and 4: boxes by middle and half width.
TEST(Figure, BarsRulesAndBands) {
  Figure figure = simple_figure();
  figure.panels[0].series = {
      {.name = "count", .x = {0, 1}, .y = {2, 4}, .stroke = Stroke::bars, .x_end = {1, 3}},
      {.name = "zero", .x = {0.5}, .y = {}, .stroke = Stroke::rules},
      {.name = "certified", .x = {-1}, .y = {}, .stroke = Stroke::bands, .x_end = {2}}};
  const std::string script = gnuplot_script(figure, "out.svg");
  EXPECT_TRUE(holds(script, "0.5 1 0.5 1\n2 2 1 2\nEOD"));
  EXPECT_TRUE(holds(script, "using 1:2:3:4 with boxxyerror"));
  EXPECT_TRUE(holds(script, "set arrow from first 0.5, graph 0 to first 0.5, graph 1 nohead"));
  EXPECT_TRUE(holds(script, "set object rectangle from first -1, graph 0 to first 2, graph 1 behind"));
  EXPECT_FALSE(holds(script, "'zero'"));  // they have no place in the legend
  figure.panels[0].series[0].x_end.pop_back();
  EXPECT_THROW(gnuplot_script(figure, "out.svg"), Bug);
  figure.panels[0].series[0].x_end.push_back(3);
  figure.panels[0].series[2].x_end.clear();
  EXPECT_THROW(gnuplot_script(figure, "out.svg"), Bug);
}

// What has no y has no part in the ranges.
TEST(Figure, EqualUnitsLookAtPointsAlone) {
  Figure figure = simple_figure();
  figure.panels[0].series = {{.name = "", .x = {-1, 1}, .y = {-1, 1}},
                             {.name = "", .x = {50}, .y = {}, .stroke = Stroke::rules}};
  figure.panels[0].equal_units = true;
  EXPECT_TRUE(holds(gnuplot_script(figure, "out.svg"), "set yrange [-1.1:1.1]"));
}

// A text never ends its line, so nothing in it is a command.
TEST(Figure, TextsAreNotCommands) {
  const std::string hostile = "a'b\nsystem 'touch x'\r\nprint 1";
  Figure figure = simple_figure();
  figure.title = hostile;
  figure.panels[0].title = hostile;
  figure.panels[0].x.label = hostile;
  figure.panels[0].series[0].name = hostile;
  const std::string script = gnuplot_script(figure, "out.svg");
  EXPECT_FALSE(holds(script, "\nsystem"));
  EXPECT_FALSE(holds(script, "\nprint"));
  EXPECT_FALSE(holds(script, "\r"));
  EXPECT_TRUE(holds(script, "set title 'a''b system ''touch x''  print 1'"));
}

TEST(Figure, PanelsInRows) {
  Figure figure = simple_figure();
  figure.panels.resize(8, figure.panels[0]);
  figure.rows = 2;
  EXPECT_TRUE(holds(gnuplot_script(figure, "out.svg"), "set terminal svg size 1840,"));
  figure.rows = 3;
  EXPECT_THROW(gnuplot_script(figure, "out.svg"), Bug);
}

TEST(Figure, RefusesWhatIsNoFigure) {
  EXPECT_THROW(gnuplot_script({}, "out.svg"), Bug);
  Figure ragged = simple_figure();
  ragged.panels[0].series[0].x.pop_back();
  EXPECT_THROW(gnuplot_script(ragged, "out.svg"), Bug);
}

}  // namespace
}  // namespace selfnorm
