// What is to be drawn: series, axes and labels. Two programs draw it: the page (page/page.h), from the JSON
// of document/document.h, and gnuplot, from `gnuplot_script`, whose script holds its data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace selfnorm {

enum class Stroke {
  line,
  dashed,         // for bounds and theory
  points,         // small marks alone
  marks,          // marks with their errors, of things that are not in an order
  line_points,    // measured
  dashed_points,  // printed by others
  region,         // the inside of a closed curve
  bars,           // from 0 to y over [x, x_end]: a histogram
  rules,          // upright lines at x, through the whole panel; y is not looked at
  bands           // [x, x_end] through the whole panel, behind everything; y is not looked at
};

struct Series {
  std::string name;          // in the legend; empty: not there
  std::vector<double> x, y;  // same length; a point that is not finite interrupts the line
  Stroke stroke = Stroke::line_points;
  uint32_t colour = 0;                   // place in a palette that colour-blind people can tell apart
  std::vector<double> error = {};        // of y, or empty
  std::vector<double> x_end = {};        // bars, bands
  std::vector<std::string> labels = {};  // what a point is, shown when it is pointed at; or empty
};

struct Axis {
  std::string label;  // with its unit
  bool logarithmic = false;
  std::optional<double> low = std::nullopt, high = std::nullopt;
  std::vector<std::string> ticks = {};  // x: names of 1, 2, 3, ... in the place of numbers and label
};

// The amount that a value v from 0 to 1 stands for, M the largest:
enum class HeatScale {
  linear,    // v M
  root,      // v^2 M: shows small ones
  logarithm  // (1 + M)^v - 1: counts
};

// A picture behind the series: row by row from below, 0 (white) to 1 (dark).
struct Heat {
  size_t columns = 0, rows = 0;
  std::vector<double> value = {};  // columns x rows; empty: none
  std::string label = {};          // what is counted or measured, the amount
  double most = 1;                 // the amount that 1 stands for
  HeatScale scale = HeatScale::linear;

  double amount(double v) const;        // that a value stands for
  double shade(double quantity) const;  // the value that stands for it, at most 1
};

struct Panel {
  std::string title;
  Axis x, y;
  std::vector<Series> series;
  bool equal_units = false;  // one unit is as long on both axes
  Heat heat = {};            // over the ranges of the axes, which have to be given; cells as wide as each
                             // other as drawn: in equal ratios on a logarithmic axis
};

struct Figure {
  std::string title;
  std::vector<Panel> panels;  // one to three side by side, or in `rows` rows of up to four
  size_t rows = 1;            // divides the number of panels
};

// A gnuplot program that writes the file `svg`.
std::string gnuplot_script(const Figure& figure, const std::string& svg);

// Runs `gnuplot SCRIPT` in `folder`. Returns an empty text, or why there is no figure: gnuplot is missing
// (and how to install it), or what it complained about.
std::string run_gnuplot(const std::string& folder, const std::string& script);

// Writes NAME.gp into `folder` and draws NAME.svg, an older one removed. Returns what run_gnuplot does.
std::string draw_figure(const Figure& figure, const std::string& folder, const std::string& name);

}  // namespace selfnorm
