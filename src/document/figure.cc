#include "document/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// Okabe & Ito, "Color universal design" (2008), then grey and wine.
constexpr std::array<const char*, 9> kPalette = {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00",
                                                 "#56B4E9", "#000000", "#777777", "#882255"};
// Filled circle, square, triangle, diamond, ... and the open ones of the same shapes.
constexpr std::array<int, 5> kFilled = {7, 5, 9, 13, 11};
constexpr std::array<int, 5> kOpen = {6, 4, 8, 12, 10};
// Pixels. The legend has its own room below the axes, one series a line, so that it hides nothing.
constexpr std::array<int, 4> kPanelWidth = {860, 640, 580, 460};  // of one, two, three, four in a row
constexpr int kLeft = 130, kRight = 25, kTop = 85, kPlotHeight = 400, kAxisHeight = 75, kLegendLine = 25;

// A line is a command of the script: texts have none but their own.
std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < 0x20; }, ' ');
  return text;
}

std::string quoted_string(const std::string& text) {
  std::string out = "'";
  for (const char c : one_line(text)) {
    out += c;
    if (c == '\'') out += '\'';
  }
  return out + "'";
}

// Drawn behind a plot and not by it: they know no y.
bool is_behind(Stroke stroke) { return stroke == Stroke::rules || stroke == Stroke::bands; }

// Boxes are middles and half widths.
std::string bars_block(const Series& series, const std::string& name) {
  SELFNORM_CHECK(series.x_end.size() == series.x.size());
  std::string out = name + " << EOD\n";
  for (size_t i = 0; i < series.x.size(); ++i)
    out += fmt::format("{:.8g} {:.8g} {:.8g} {:.8g}\n", 0.5 * (series.x[i] + series.x_end[i]),
                       0.5 * series.y[i], 0.5 * (series.x_end[i] - series.x[i]), 0.5 * series.y[i]);
  return out + "EOD\n";
}

std::string data_block(const Series& series, const std::string& name) {
  SELFNORM_CHECK(series.x.size() == series.y.size());
  SELFNORM_CHECK(series.error.empty() || series.error.size() == series.x.size());
  if (series.stroke == Stroke::bars) return bars_block(series, name);
  std::string out = name + " << EOD\n";
  for (size_t i = 0; i < series.x.size(); ++i) {
    if (!std::isfinite(series.x[i]) || !std::isfinite(series.y[i])) {
      out += "\n";
      continue;
    }
    out += fmt::format("{:.8g} {:.8g}", series.x[i], series.y[i]);
    if (!series.error.empty()) out += fmt::format(" {:.8g}", series.error[i]);
    out += "\n";
  }
  return out + "EOD\n";
}

std::string style(const Series& series) {
  const char* colour = kPalette[series.colour % kPalette.size()];
  const size_t shape = series.colour % kFilled.size();
  const std::string rgb = fmt::format("lc rgb '{}'", colour);
  switch (series.stroke) {
    case Stroke::line:
      return fmt::format("with lines lw 2.5 {}", rgb);
    case Stroke::dashed:
      return fmt::format("with lines lw 2 dt 2 {}", rgb);
    case Stroke::points:
      return fmt::format("with points pt {} ps 0.45 {}", kFilled[shape], rgb);
    case Stroke::marks:
      return fmt::format("with {} lw 2 pt {} ps 0.9 {}", series.error.empty() ? "points" : "yerrorbars",
                         kFilled[shape], rgb);
    case Stroke::dashed_points:
      return fmt::format("with linespoints lw 1.8 dt 3 pt {} ps 0.9 {}", kOpen[shape], rgb);
    case Stroke::region:
      return fmt::format("with filledcurves closed fc rgb '{}' fs transparent solid 0.25 border {}", colour,
                         rgb);
    case Stroke::bars:
      return fmt::format("with boxxyerror fc rgb '{}' fs transparent solid 0.35 border {}", colour, rgb);
    case Stroke::line_points:
    case Stroke::rules:
    case Stroke::bands:
      break;
  }
  return fmt::format("with {} lw 2.5 pt {} ps 0.8 {}", series.error.empty() ? "linespoints" : "yerrorlines",
                     kFilled[shape], rgb);
}

const char* columns_used(const Series& series) {
  return series.stroke == Stroke::bars ? "1:2:3:4" : series.error.empty() ? "1:2" : "1:2:3";
}

// Lines and rectangles through the whole panel; they have no place in the legend.
std::string behind(const Panel& panel) {
  std::string out = "unset arrow\nunset object\n";
  for (const Series& series : panel.series) {
    const char* colour = kPalette[series.colour % kPalette.size()];
    SELFNORM_CHECK(series.stroke != Stroke::bands || series.x_end.size() == series.x.size());
    for (size_t i = 0; is_behind(series.stroke) && i < series.x.size(); ++i)
      out += series.stroke == Stroke::rules
                 ? fmt::format(
                       "set arrow from first {0:.8g}, graph 0 to first {0:.8g}, graph 1 nohead lw 2 dt 2 lc "
                       "rgb '{1}'\n",
                       series.x[i], colour)
                 : fmt::format(
                       "set object rectangle from first {:.8g}, graph 0 to first {:.8g}, graph 1 behind fc "
                       "rgb '{}' fs transparent solid 0.12 noborder\n",
                       series.x[i], series.x_end[i], colour);
  }
  return out;
}

bool has_behind(const Figure& figure) {
  for (const Panel& panel : figure.panels)
    for (const Series& series : panel.series)
      if (is_behind(series.stroke)) return true;
  return false;
}

// Pixels of the picture as bytes; the white of the page stays white.
std::string heat_block(const Heat& heat, const std::string& name) {
  SELFNORM_CHECK(heat.value.size() == heat.columns * heat.rows);
  std::string out = name + " << EOD\n";
  for (size_t i = 0; i < heat.rows; ++i) {
    for (size_t j = 0; j < heat.columns; ++j)
      out += fmt::format("{}{:.0f}", j > 0 ? " " : "", 255 * heat.value[i * heat.columns + j]);
    out += "\n";
  }
  return out + "EOD\n";
}

// Pixel centres: low + (i + 1/2) width.
std::string heat_plot(const Panel& panel, const std::string& name) {
  SELFNORM_CHECK(panel.x.low && panel.x.high && panel.y.low && panel.y.high);
  const double dx = (*panel.x.high - *panel.x.low) / static_cast<double>(panel.heat.columns);
  const double dy = (*panel.y.high - *panel.y.low) / static_cast<double>(panel.heat.rows);
  return fmt::format("{} matrix using ({:.8g}+{:.8g}*$1):({:.8g}+{:.8g}*$2):3 with image notitle", name,
                     *panel.x.low + dx / 2, dx, *panel.y.low + dy / 2, dy);
}

// Names take the place of the label.
std::string name_ticks(const Axis& axis) {
  if (axis.ticks.empty()) return "set xtics auto norotate\n";
  std::string names;
  for (size_t i = 0; i < axis.ticks.size(); ++i)
    names += fmt::format("{}{} {}", i > 0 ? ", " : "", quoted_string(axis.ticks[i]), i + 1);
  return fmt::format("unset xlabel\nset xrange [0.5:{}.5]\nset xtics ({}) rotate by -20\n", axis.ticks.size(),
                     names);
}

std::string axis(const char* name, const Axis& axis) {
  const auto bound = [](const std::optional<double>& v) { return v ? fmt::format("{:.8g}", *v) : "*"; };
  std::string out = fmt::format("set {}label {}\n", name, quoted_string(axis.label));
  out += fmt::format("{} logscale {}\n", axis.logarithmic ? "set" : "unset", name);
  out += fmt::format("set {}range [{}:{}]\n", name, bound(axis.low), bound(axis.high));
  return out + fmt::format("set format {} '%g'\n", name);
}

// Ranges about the middle of the data in which a unit is as long on both axes of a plot `width` pixels wide.
void equalise(Panel& panel, double width) {
  double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
  for (const Series& series : panel.series) {
    for (size_t i = 0; !is_behind(series.stroke) && i < series.x.size(); ++i) {
      const double point[2] = {series.x[i], series.y[i]};
      for (int a = 0; a < 2; ++a) {
        low[a] = std::min(low[a], point[a]);
        high[a] = std::max(high[a], point[a]);
      }
    }
  }
  const double unit = 1.1 * std::max((high[0] - low[0]) / width, (high[1] - low[1]) / kPlotHeight);
  const double half[2] = {0.5 * unit * width, 0.5 * unit * kPlotHeight};
  Axis* const axes[2] = {&panel.x, &panel.y};
  for (int a = 0; a < 2; ++a) {
    axes[a]->low = 0.5 * (low[a] + high[a]) - half[a];
    axes[a]->high = 0.5 * (low[a] + high[a]) + half[a];
  }
}

size_t legend_lines(const Panel& panel) {
  size_t lines = 0;
  for (const Series& series : panel.series) lines += series.name.empty() || is_behind(series.stroke) ? 0 : 1;
  return lines;
}

}  // namespace

double Heat::amount(double v) const {
  return scale == HeatScale::root        ? v * v * most
         : scale == HeatScale::logarithm ? std::expm1(v * std::log1p(most))
                                         : v * most;
}

double Heat::shade(double quantity) const {
  const double share = std::min(1.0, quantity / most);
  return scale == HeatScale::root        ? std::sqrt(share)
         : scale == HeatScale::logarithm ? std::log1p(share * most) / std::log1p(most)
                                         : share;
}

std::string gnuplot_script(const Figure& figure, const std::string& svg) {
  const size_t panels = figure.panels.size(), rows = figure.rows;
  SELFNORM_CHECK(panels >= 1 && rows >= 1 && panels % rows == 0 && panels / rows <= kPanelWidth.size());
  const size_t columns = panels / rows;
  size_t lines = 0;
  bool has_ticks = false, has_heat = false;
  for (const Panel& panel : figure.panels) {
    lines = std::max(lines, legend_lines(panel));
    has_ticks = has_ticks || !panel.x.ticks.empty();
    has_heat = has_heat || !panel.heat.value.empty();
  }
  const int width = kPanelWidth[columns - 1];
  const int below = kAxisHeight + kLegendLine * static_cast<int>(lines) + 10;
  const double row_height = kTop + kPlotHeight + below, height = row_height * static_cast<double>(rows),
               whole = static_cast<double>(width) * static_cast<double>(columns);
  std::string out = fmt::format(
      "# {}; drawn by: gnuplot THIS_FILE\nset encoding utf8\nset terminal svg size {},{} noenhanced font "
      "'Arial,15' background '#ffffff' linewidth 1\nset output {}\nset border 3 lw 1 lc rgb '#444444'\nset "
      "tics nomirror out\nset grid lc rgb '#dddddd' lt 1 lw 0.7\n",
      one_line(figure.title), whole, height, quoted_string(svg));
  if (has_heat)
    out +=
        "set palette defined (0 '#ffffff', 1 '#0072B2', 2 '#002040')\nset cbrange [0:255]\nunset colorbox\n";
  for (size_t p = 0; p < panels; ++p) {
    for (size_t s = 0; s < figure.panels[p].series.size(); ++s) {
      const Series& series = figure.panels[p].series[s];
      if (!is_behind(series.stroke)) out += data_block(series, fmt::format("$p{}s{}", p, s));
    }
    if (!figure.panels[p].heat.value.empty())
      out += heat_block(figure.panels[p].heat, fmt::format("$p{}h", p));
  }
  out += fmt::format("set multiplot title {} font ',19'\n", quoted_string(figure.title));
  for (size_t p = 0; p < panels; ++p) {
    Panel panel = figure.panels[p];
    if (panel.equal_units) equalise(panel, width - kLeft - kRight);
    const double left = static_cast<double>(p % columns) * width;
    const size_t row = p / columns;
    const double bottom = row_height * static_cast<double>(rows - 1 - row);
    out += fmt::format("set title {} font ',15'\n", quoted_string(panel.title));
    out += axis("x", panel.x) + axis("y", panel.y);
    if (has_ticks) out += name_ticks(panel.x);
    if (has_behind(figure)) out += behind(panel);
    out += fmt::format("set lmargin at screen {:.5f}\nset rmargin at screen {:.5f}\n", (left + kLeft) / whole,
                       (left + width - kRight) / whole);
    out += fmt::format("set tmargin at screen {:.5f}\nset bmargin at screen {:.5f}\n",
                       (bottom + row_height - kTop) / height, (bottom + below) / height);
    out += fmt::format(
        "set key at screen {:.5f},{:.5f} left top vertical maxcols 1 Left reverse samplen 3 spacing 1.2 font "
        "',14'\n",
        (left + kLeft - 20) / whole, (bottom + below - kAxisHeight) / height);
    std::string separator = "plot ";
    if (!panel.heat.value.empty()) {
      out += separator + heat_plot(panel, fmt::format("$p{}h", p));
      separator = ", \\\n     ";
    }
    for (size_t s = 0; s < panel.series.size(); ++s) {
      const Series& series = panel.series[s];
      if (is_behind(series.stroke)) continue;
      out += fmt::format("{}$p{}s{} using {} {} {}", separator, p, s, columns_used(series), style(series),
                         series.name.empty() ? "notitle" : "title " + quoted_string(series.name));
      separator = ", \\\n     ";
    }
    out += "\n";
  }
  return out + "unset multiplot\n";
}

}  // namespace selfnorm
