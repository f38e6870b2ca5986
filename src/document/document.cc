#include "document/document.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "document/json_figure.h"
#include "document/json_place.h"

namespace selfnorm {
namespace {

using nlohmann::ordered_json;

constexpr int kFormat = 1;

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
  const auto found = std::find_if(sections.begin(), sections.end(), [&](const ReportSection& section) {
    return section.title == title_of_section;
  });
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
