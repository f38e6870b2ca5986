#include "selfnorm/reproduce/figure.h"

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

TEST(Figure, RefusesWhatIsNoFigure) {
  EXPECT_THROW(gnuplot_script({}, "out.svg"), Bug);
  Figure ragged = simple_figure();
  ragged.panels[0].series[0].x.pop_back();
  EXPECT_THROW(gnuplot_script(ragged, "out.svg"), Bug);
}

}  // namespace
}  // namespace selfnorm
