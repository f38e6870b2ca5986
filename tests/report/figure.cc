#include "selfnorm/report/figure.h"

#include <gtest/gtest.h>

#include <cmath>

#include "selfnorm/base/error.h"

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
