#include "document/json_figure.h"

#include <array>

#include "document/table.h"

namespace selfnorm {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMostCells = size_t{1} << 20;
constexpr uint32_t kMostColours = 1000;

// In the order of Stroke.
constexpr std::array<const char*, 10> kStrokes = {"line",          "dashed", "points", "marks", "line_points",
                                                  "dashed_points", "region", "bars",   "rules", "bands"};

// In the order of HeatScale.
constexpr std::array<const char*, 3> kScales = {"linear", "root", "logarithm"};

// Seven significant digits: more cannot be seen, and files are half as long.
ordered_json shortened_value(double value) { return json_value(rounded(value, 7)); }

ordered_json numbers_json(const std::vector<double>& values) {
  ordered_json out = ordered_json::array();
  for (const double value : values) out.push_back(shortened_value(value));
  return out;
}

ordered_json axis_json(const Axis& axis) {
  ordered_json out = {{"label", axis.label}};
  if (axis.logarithmic) out["logarithmic"] = true;
  if (axis.low) out["low"] = shortened_value(*axis.low);
  if (axis.high) out["high"] = shortened_value(*axis.high);
  if (!axis.ticks.empty()) out["ticks"] = axis.ticks;
  return out;
}

ordered_json series_json(const Series& series) {
  ordered_json out = {{"name", series.name},
                      {"stroke", kStrokes.at(static_cast<size_t>(series.stroke))},
                      {"colour", series.colour},
                      {"x", numbers_json(series.x)},
                      {"y", numbers_json(series.y)}};
  if (!series.error.empty()) out["error"] = numbers_json(series.error);
  if (!series.x_end.empty()) out["x_end"] = numbers_json(series.x_end);
  if (!series.labels.empty()) out["labels"] = series.labels;
  return out;
}

ordered_json heat_json(const Heat& heat) {
  ordered_json out = {{"columns", heat.columns}, {"rows", heat.rows}, {"label", heat.label}};
  out["most"] = shortened_value(heat.most);
  if (heat.scale != HeatScale::linear) out["scale"] = kScales.at(static_cast<size_t>(heat.scale));
  // Counts of a few hundred can be told from four digits, and no eye tells more.
  ordered_json values = ordered_json::array();
  for (const double value : heat.value) values.push_back(json_value(std::round(value * 10000) / 10000));
  out["value"] = std::move(values);
  return out;
}

ordered_json panel_json(const Panel& panel) {
  ordered_json out = {{"title", panel.title}, {"x", axis_json(panel.x)}, {"y", axis_json(panel.y)}};
  if (panel.equal_units) out["equal_units"] = true;
  for (const Series& series : panel.series) out["series"].push_back(series_json(series));
  if (!panel.heat.value.empty()) out["heat"] = heat_json(panel.heat);
  return out;
}

Axis read_axis(const JsonPlace& place) {
  return {.label = place.text_or("label", ""),
          .logarithmic = place.flag("logarithmic"),
          .low = place.optional_number("low"),
          .high = place.optional_number("high"),
          .ticks = place.texts("ticks")};
}

Stroke read_stroke(const JsonPlace& place) {
  const std::string name = place.text("stroke");
  for (size_t i = 0; i < kStrokes.size(); ++i)
    if (name == kStrokes[i]) return static_cast<Stroke>(i);
  place.at("stroke").fail(
      "one of line, dashed, points, marks, line_points, dashed_points, region, bars, "
      "rules, bands");
}

HeatScale read_scale(const JsonPlace& place) {
  const std::string name = place.text_or("scale", kScales[0]);
  for (size_t i = 0; i < kScales.size(); ++i)
    if (name == kScales[i]) return static_cast<HeatScale>(i);
  place.at("scale").fail("one of linear, root, logarithm");
}

Series read_series(const JsonPlace& place) {
  Series out{.name = place.text_or("name", ""),
             .x = place.numbers("x"),
             .y = place.numbers("y"),
             .stroke = read_stroke(place),
             .colour = place.has("colour") ? static_cast<uint32_t>(place.count("colour", kMostColours)) : 0,
             .error = place.numbers("error"),
             .x_end = place.numbers("x_end"),
             .labels = place.texts("labels")};
  const auto fits = [&](size_t size) { return size == 0 || size == out.x.size(); };
  const bool has_ends = out.stroke == Stroke::bars || out.stroke == Stroke::bands;
  if (out.y.size() != out.x.size() || !fits(out.error.size()) || !fits(out.x_end.size()) ||
      !fits(out.labels.size()) || (has_ends && out.x_end.size() != out.x.size()))
    place.fail("x, y and what else has one entry a point (bars and bands: x_end too) of one length");
  return out;
}

Heat read_heat(const JsonPlace& place) {
  Heat out{.columns = place.count("columns", kMostCells),
           .rows = place.count("rows", kMostCells),
           .value = place.numbers("value"),
           .label = place.text_or("label", ""),
           .most = place.optional_number("most").value_or(1),
           .scale = read_scale(place)};
  if (!(out.most > 0)) place.at("most").fail("a number above 0");
  if (out.value.size() != out.columns * out.rows) place.at("value").fail("columns x rows numbers");
  return out;
}

Panel read_panel(const JsonPlace& place) {
  Panel out{.title = place.text_or("title", ""),
            .x = read_axis(place.at("x")),
            .y = read_axis(place.at("y")),
            .series = {},
            .equal_units = place.flag("equal_units")};
  for (const JsonPlace& series : place.items("series")) out.series.push_back(read_series(series));
  if (!place.has("heat")) return out;
  out.heat = read_heat(place.at("heat"));
  if (!(out.x.low && out.x.high && out.y.low && out.y.high))
    place.fail("the ranges of both axes (low, high) of a panel with heat");
  return out;
}

}  // namespace

ordered_json figure_json(const Figure& figure) {
  ordered_json panels = ordered_json::array();
  for (const Panel& panel : figure.panels) panels.push_back(panel_json(panel));
  return {{"rows", figure.rows}, {"panels", std::move(panels)}};
}

Figure read_figure(const JsonPlace& place) {
  Figure out{.title = "", .panels = {}};
  for (const JsonPlace& panel : place.items("panels")) out.panels.push_back(read_panel(panel));
  if (place.has("rows")) out.rows = place.count("rows", kMostColours);
  if (out.panels.empty() || out.rows == 0 || out.panels.size() % out.rows != 0)
    place.fail("panels, one or more, in rows of the same number");
  return out;
}

}  // namespace selfnorm
