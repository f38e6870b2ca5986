#include "document/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>

#include "base/json_text.h"
#include "document/json_place.h"

namespace selfnorm {
namespace {

using nlohmann::ordered_json;

constexpr int kFormat = 1;
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

// `words` are in the order of the enumeration.
template <class Choice>
Choice read_choice(const JsonPlace& place, std::span<const char* const> words) {
  const auto found = std::ranges::find(words, place.text());
  if (found == words.end()) place.fail(fmt::format("one of {}", fmt::join(words, ", ")));
  return static_cast<Choice>(found - words.begin());
}

Series read_series(const JsonPlace& place) {
  Series out{.name = place.text_or("name", ""),
             .x = place.numbers("x"),
             .y = place.numbers("y"),
             .stroke = read_choice<Stroke>(place.at("stroke"), kStrokes),
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
  Heat out{
      .columns = place.count("columns", kMostCells),
      .rows = place.count("rows", kMostCells),
      .value = place.numbers("value"),
      .label = place.text_or("label", ""),
      .most = place.optional_number("most").value_or(1),
      .scale = place.has("scale") ? read_choice<HeatScale>(place.at("scale"), kScales) : HeatScale::linear};
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

// Without its title, which is beside it.
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

ordered_json card_json(const ReportCard& card) {
  ordered_json out = {{"id", card.id}, {"label", card.label}, {"value", card.value}};
  if (card.number && std::isfinite(*card.number)) out["number"] = *card.number;
  if (!card.source.empty()) out["source"] = card.source;
  if (!card.tone.empty()) out["tone"] = card.tone;
  return out;
}

ordered_json table_json(const ReportTable& table) {
  ordered_json rows = ordered_json::array();
  for (const std::vector<Cell>& row : table.table.rows) {
    ordered_json cells = ordered_json::array();
    for (const Cell& cell : row)
      cells.push_back(std::visit([](const auto& value) { return json_value(value); }, cell));
    rows.push_back(std::move(cells));
  }
  return {{"id", table.id},
          {"title", table.table.caption},
          {"look", table.look},
          {"columns", table.table.columns},
          {"rows", std::move(rows)}};
}

ordered_json section_json(const ReportSection& section) {
  ordered_json out = {{"title", section.title}};
  for (const ReportFigure& figure : section.figures) {
    ordered_json json = {{"id", figure.id}, {"title", figure.figure.title}, {"look", figure.look}};
    json.update(figure_json(figure.figure));
    out["figures"].push_back(std::move(json));
  }
  for (const ReportTable& table : section.tables) out["tables"].push_back(table_json(table));
  return out;
}

ReportCard read_card(const JsonPlace& place) {
  return {.id = place.text("id"),
          .label = place.text("label"),
          .value = place.text("value"),
          .number = place.optional_number("number"),
          .source = place.text_or("source", ""),
          .tone = place.text_or("tone", "")};
}

Cell read_cell(const JsonPlace& place) {
  if (place.json().is_string()) return place.json().get<std::string>();
  return place.number_or_nan();
}

ReportTable read_table(const JsonPlace& place) {
  ReportTable out{.id = place.text("id"),
                  .look = place.text_or("look", ""),
                  .table = {.caption = place.text_or("title", ""), .columns = place.texts("columns")}};
  for (const JsonPlace& row : place.items("rows")) {
    std::vector<Cell> cells;
    for (const JsonPlace& cell : row.items()) cells.push_back(read_cell(cell));
    if (cells.size() != out.table.columns.size())
      row.fail(std::to_string(out.table.columns.size()) + " cells, as there are columns");
    out.table.rows.push_back(std::move(cells));
  }
  return out;
}

ReportSection read_section(const JsonPlace& place) {
  ReportSection out{.title = place.text("title")};
  for (const JsonPlace& figure : place.items("figures")) {
    out.figures.push_back(
        {.id = figure.text("id"), .look = figure.text_or("look", ""), .figure = read_figure(figure)});
    out.figures.back().figure.title = figure.text_or("title", "");
  }
  for (const JsonPlace& table : place.items("tables")) out.tables.push_back(read_table(table));
  return out;
}

}  // namespace

ReportSection& ReportDocument::section(const std::string& title_of_section) {
  const auto found = std::ranges::find(sections, title_of_section, &ReportSection::title);
  if (found != sections.end()) return *found;
  sections.push_back({.title = title_of_section});
  return sections.back();
}

std::string document_text(const ReportDocument& document) {
  ordered_json out = {
      {"format", kFormat}, {"name", document.name}, {"command", document.command}, {"title", document.title}};
  if (!document.notes.empty()) out["notes"] = document.notes;
  for (const ReportCard& card : document.cards) out["cards"].push_back(card_json(card));
  for (const ReportSection& section : document.sections) out["sections"].push_back(section_json(section));
  return out.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

ReportDocument parse_document(const std::string& text, const std::string& where) {
  const nlohmann::json json = bounded_json<nlohmann::json>(text);
  if (json.is_discarded()) throw Error(where + ": not JSON; expected the data of a report");
  const JsonPlace place(json, where);
  if (!json.is_object()) place.fail("an object with the data of a report");
  if (const double format = place.number("format"); format != kFormat)
    place.fail("\"format\": 1; this program may be older than the file");
  ReportDocument out{.name = place.text("name"),
                     .command = place.text_or("command", ""),
                     .title = place.text_or("title", "")};
  if (json.contains("notes")) out.notes = place.texts("notes");
  for (const JsonPlace& card : place.items("cards")) out.cards.push_back(read_card(card));
  for (const JsonPlace& section : place.items("sections")) out.sections.push_back(read_section(section));
  return out;
}

}  // namespace selfnorm
