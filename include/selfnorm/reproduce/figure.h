// What an experiment asks to be drawn: series, axes and labels. `gnuplot_script` is the one place that knows
// the drawing program; the script holds its data, so that it draws the figure by itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace selfnorm {

enum class Stroke {
  line,
  dashed,         // for bounds and theory
  points,         // marks alone
  line_points,    // measured
  dashed_points,  // printed by others
  region          // the inside of a closed curve
};

struct Series {
  std::string name;          // in the legend; empty: not there
  std::vector<double> x, y;  // same length; a point that is not finite interrupts the line
  Stroke stroke = Stroke::line_points;
  uint32_t colour = 0;             // place in a palette that colour-blind people can tell apart
  std::vector<double> error = {};  // of y, or empty
};

struct Axis {
  std::string label;  // with its unit
  bool logarithmic = false;
  std::optional<double> low = std::nullopt, high = std::nullopt;
};

struct Panel {
  std::string title;
  Axis x, y;
  std::vector<Series> series;
  bool equal_units = false;  // one unit is as long on both axes
};

struct Figure {
  std::string title;
  std::vector<Panel> panels;  // one to three, side by side
};

// A gnuplot program that writes the file `svg`.
std::string gnuplot_script(const Figure& figure, const std::string& svg);

}  // namespace selfnorm
