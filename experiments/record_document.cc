#include "experiments/record_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/document.h"

namespace selfnorm {
namespace {

constexpr size_t kCards = 4;

double short_number(double value) {
  if (!std::isfinite(value) || value == std::trunc(value)) return value;
  return rounded(value, 5);
}

void shorten(std::vector<double>& values) { std::ranges::transform(values, values.begin(), short_number); }

Figure short_figure(Figure figure) {
  for (Panel& panel : figure.panels) {
    for (Series& series : panel.series) {
      shorten(series.x);
      shorten(series.y);
      shorten(series.error);
      shorten(series.x_end);
    }
    for (double& value : panel.heat.value) value = std::round(1000 * value) / 1000;
    panel.heat.most = short_number(panel.heat.most);
  }
  return figure;
}

Table short_table(Table table) {
  for (auto& row : table.rows)
    for (Cell& cell : row)
      if (double* number = std::get_if<double>(&cell)) *number = short_number(*number);
  return table;
}

// "gap_of_words" -> "gap of words".
std::string spoken(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

// Of the numbers of a group.
const char* source_of(const std::string& group) {
  if (group == "density") return "log Z as said beside each table, never b";
  if (group == "sequences") return "A(x) by the forward recursion";
  return group == "regression" ? "A(x) as said beside each table, never b(x)" : "exact log Z";
}

ReportCard card_of(const Record& record, const std::pair<std::string, Cell>& fact, const std::string& group) {
  const double* number = std::get_if<double>(&fact.second);
  return {.id = record.name + "-" + fact.first,
          .label = spoken(fact.first),
          .value = written(fact.second),
          .number = number != nullptr ? std::optional(short_number(*number)) : std::nullopt,
          .source = number != nullptr ? source_of(group) : ""};
}

Table words(const Record& record, const std::string& group) {
  const bool is_paper = group == "papers";
  Table out{.caption = "In words", .columns = {"what", "words"}};
  out.add({is_paper ? "The paper says" : "Asked", record.paper});
  out.add({"Measured", record.measured});
  out.add({is_paper ? "Differences" : "How", record.differences});
  out.add({"Notation", group_notation(group)});
  return out;
}

Table facts(const Record& record) {
  Table out{.caption = "The main numbers", .columns = {"fact", "value"}};
  for (const auto& [name, value] : record.facts) out.add({spoken(name), value});
  return short_table(std::move(out));
}

Table settings(const Record& record) {
  Table out{.caption = "Settings", .columns = {"setting", "value"}};
  for (const auto& [name, value] : record.settings) out.add({name, value});
  return out;
}

}  // namespace

ReportDocument record_document(const Record& record, const std::string& group) {
  ReportDocument out{.name = record.name, .command = "reproduce", .title = record.name + ": " + record.title};
  for (size_t i = 0; i < std::min(kCards, record.facts.size()); ++i)
    out.cards.push_back(card_of(record, record.facts[i], group));
  ReportSection& section = out.section(out.title);
  size_t drawn = 0;
  const auto add_figure = [&](const std::string& id, const Figure& figure) {
    const std::string& look = drawn < record.looks.size() ? record.looks[drawn] : record.paper;
    ++drawn;
    if (!figure.panels.empty()) section.figures.push_back({id, look, short_figure(figure)});
  };
  add_figure(record.name, record.figure);
  for (const auto& [suffix, figure] : record.more_figures) add_figure(record.name + "-" + suffix, figure);

  const std::string place = fmt::format("All numbers are in {}.csv.", record.name);
  section.tables.push_back(
      {record.name + "-words", "What was expected beside what was found.", words(record, group)});
  for (size_t i = 0; i < record.tables.size(); ++i)
    section.tables.push_back(
        {fmt::format("{}-table-{}", record.name, i + 1), place, short_table(record.tables[i])});
  if (!record.facts.empty())
    section.tables.push_back({record.name + "-facts",
                              "What the words above were computed from; numbers of likelihood and log Z: " +
                                  std::string(source_of(group)) + ".",
                              facts(record)});
  section.tables.push_back({record.name + "-settings", "What it takes to run this again.", settings(record)});
  return out;
}

}  // namespace selfnorm
