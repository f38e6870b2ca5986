#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "document/document.h"

namespace selfnorm {
namespace {

constexpr uint32_t kColours = 9, kReferenceColour = 7;  // of the page; the grey one is that of what all share

// The n-th of the colours of documents.
uint32_t own_colour(size_t n) {
  const auto colour = static_cast<uint32_t>(n % (kColours - 1));
  return colour < kReferenceColour ? colour : colour + 1;
}

// A figure of one id and the document it comes from.
struct Part {
  size_t document = 0;
  const std::string* name = nullptr;
  const ReportFigure* figure = nullptr;
};

bool is_same(const Series& a, const Series& b) {
  return a.name == b.name && a.stroke == b.stroke && a.x == b.x && a.y == b.y && a.x_end == b.x_end;
}

void make_names_different(std::vector<ReportDocument>& documents) {
  std::set<std::string> taken;
  for (ReportDocument& document : documents) {
    const std::string base = document.name.empty() ? "report" : document.name;
    document.name = base;
    for (int number = 2; !taken.insert(document.name).second; ++number)
      document.name = fmt::format("{} ({})", base, number);
  }
}

const ReportCard* card_of(const ReportDocument& document, const std::string& id) {
  const auto found = std::ranges::find(document.cards, id, &ReportCard::id);
  return found == document.cards.end() ? nullptr : &*found;
}

ReportTable card_table(const std::vector<ReportDocument>& documents) {
  ReportTable out{.id = "compared",
                  .look = "One row for each; a click on a heading sorts by it.",
                  .table = {.caption = "All of them", .columns = {"report"}}};
  std::vector<std::string> ids;
  for (const ReportDocument& document : documents)
    for (const ReportCard& card : document.cards)
      if (std::ranges::find(ids, card.id) == ids.end()) {
        ids.push_back(card.id);
        out.table.columns.push_back(card.label);
      }
  for (const ReportDocument& document : documents) {
    std::vector<Cell> row{document.name};
    for (const std::string& id : ids) {
      const ReportCard* card = card_of(document, id);
      row.push_back(card == nullptr ? Cell("") : card->number ? Cell(*card->number) : Cell(card->value));
    }
    out.table.add(std::move(row));
  }
  return out;
}

// Nothing where fewer than two documents have both numbers.
std::vector<ReportFigure> trade_figure(const std::vector<ReportDocument>& documents) {
  Panel panel{
      .title = "", .x = {.label = "rms log Z"}, .y = {.label = "NLL, exact, nats per input"}, .series = {}};
  for (size_t i = 0; i < documents.size(); ++i) {
    const ReportCard *rms = card_of(documents[i], "rms_log_z"), *nll = card_of(documents[i], "nll_exact");
    if (rms == nullptr || nll == nullptr || !rms->number || !nll->number) continue;
    panel.series.push_back({.name = documents[i].name,
                            .x = {*rms->number},
                            .y = {*nll->number},
                            .stroke = Stroke::marks,
                            .colour = own_colour(i)});
  }
  if (panel.series.size() < 2) return {};
  return {{.id = "compared_trade_off",
           .look = "Better is lower (likelihood) and further left (normalisation); compare only what was "
                   "measured on the same data.",
           .figure = {.title = "Normalisation against likelihood", .panels = {std::move(panel)}}}};
}

// A bound holds for all when all have it.
void widen(const Axis& other, Axis& axis) {
  axis.logarithmic = axis.logarithmic && other.logarithmic;
  axis.low = axis.low && other.low ? std::optional(std::min(*axis.low, *other.low)) : std::nullopt;
  axis.high = axis.high && other.high ? std::optional(std::max(*axis.high, *other.high)) : std::nullopt;
}

bool is_in_all(const std::vector<Part>& parts, size_t panel, const Series& series) {
  return std::ranges::all_of(parts, [&](const Part& part) {
    const std::vector<Series>& all = part.figure->figure.panels[panel].series;
    return std::ranges::any_of(all, [&](const Series& other) { return is_same(series, other); });
  });
}

// Whether every document has one series of its own here, of one name: then the document's name will do.
bool has_one_each(const std::vector<Part>& parts, size_t panel) {
  std::set<std::string> names;
  for (const Part& part : parts) {
    size_t own = 0;
    for (const Series& series : part.figure->figure.panels[panel].series)
      if (!is_in_all(parts, panel, series)) {
        names.insert(series.name);
        ++own;
      }
    if (own != 1) return false;
  }
  return names.size() == 1;
}

Panel overlaid(const std::vector<Part>& parts, size_t index) {
  const Panel& first = parts[0].figure->figure.panels[index];
  Panel out{.title = first.title, .x = first.x, .y = first.y, .series = {}, .equal_units = first.equal_units};
  for (const Series& series : first.series)
    if (is_in_all(parts, index, series)) out.series.push_back(series);
  const bool is_one_each = has_one_each(parts, index);
  const size_t shared = out.series.size();
  size_t own = 0;
  for (const Part& part : parts) {
    const Panel& panel = part.figure->figure.panels[index];
    widen(panel.x, out.x);
    widen(panel.y, out.y);
    for (Series series : panel.series) {
      if (is_in_all(parts, index, series)) continue;
      series.name = is_one_each || series.name.empty() ? *part.name : *part.name + ": " + series.name;
      series.colour = own_colour(part.document);  // looks of one colour differ in shape
      ++own;
      out.series.push_back(std::move(series));
    }
  }
  for (size_t s = 0; own > 0 && s < shared; ++s) out.series[s].colour = kReferenceColour;
  return out;
}

// A document a row where it has two to four panels; else rows of the same length, of which three panels are
// best. Others are one row, which the page breaks.
size_t rows_of(const std::vector<Part>& parts, size_t panels) {
  const size_t each = panels / parts.size();
  const bool is_even =
      std::ranges::all_of(parts, [&](const Part& part) { return part.figure->figure.panels.size() == each; });
  if (panels <= 3) return 1;
  if (is_even && each >= 2 && each <= 4) return parts.size();
  for (const size_t columns : {3u, 2u, 4u})
    if (panels % columns == 0) return panels / columns;
  return 1;
}

// Pictures do not fit into each other, nor do panels of different number or of different things.
bool can_overlay(const std::vector<Part>& parts) {
  const std::vector<Panel>& first = parts[0].figure->figure.panels;
  return std::ranges::all_of(parts, [&](const Part& part) {
    const std::vector<Panel>& panels = part.figure->figure.panels;
    return std::equal(panels.begin(), panels.end(), first.begin(), first.end(),
                      [](const Panel& a, const Panel& b) {
                        return a.heat.value.empty() && b.heat.value.empty() && a.x.label == b.x.label &&
                               a.y.label == b.y.label && a.x.ticks == b.x.ticks;
                      });
  });
}

ReportFigure merged(const std::vector<Part>& parts) {
  ReportFigure out = *parts[0].figure;
  if (parts.size() == 1) {
    out.figure.title += " (" + *parts[0].name + ")";
    return out;
  }
  out.figure.panels.clear();
  if (can_overlay(parts)) {
    for (size_t p = 0; p < parts[0].figure->figure.panels.size(); ++p)
      out.figure.panels.push_back(overlaid(parts, p));
    return out;
  }
  for (const Part& part : parts)
    for (Panel panel : part.figure->figure.panels) {
      panel.title = *part.name + (panel.title.empty() ? "" : ": " + panel.title);
      out.figure.panels.push_back(std::move(panel));
    }
  out.figure.rows = rows_of(parts, out.figure.panels.size());
  return out;
}

ReportTable merged(const std::vector<std::pair<const std::string*, const ReportTable*>>& parts) {
  ReportTable out = *parts[0].second;
  out.table.columns.insert(out.table.columns.begin(), "report");
  out.table.rows.clear();
  for (const auto& [name, part] : parts)
    for (std::vector<Cell> row : part->table.rows) {
      row.insert(row.begin(), *name);
      row.resize(out.table.columns.size());
      out.table.rows.push_back(std::move(row));
    }
  return out;
}

// The ids of a kind of thing in sections with this title, in the order in which they appear.
template <typename T>
std::vector<std::string> ids_of(const std::vector<ReportDocument>& documents, const std::string& title,
                                std::vector<T> ReportSection::*list) {
  std::vector<std::string> ids;
  for (const ReportDocument& document : documents)
    for (const ReportSection& section : document.sections)
      for (const T& item : section.title == title ? section.*list : std::vector<T>())
        if (std::ranges::find(ids, item.id) == ids.end()) ids.push_back(item.id);
  return ids;
}

ReportSection merged_section(const std::vector<ReportDocument>& documents, const std::string& title) {
  ReportSection out{.title = title};
  const auto each = [&](const auto& id, auto list, const auto& take) {
    for (size_t i = 0; i < documents.size(); ++i)
      for (const ReportSection& section : documents[i].sections)
        for (const auto& item : section.*list)
          if (section.title == title && item.id == id) take(i, item);
  };
  for (const std::string& id : ids_of(documents, title, &ReportSection::figures)) {
    std::vector<Part> parts;
    each(id, &ReportSection::figures, [&](size_t i, const ReportFigure& figure) {
      parts.push_back({i, &documents[i].name, &figure});
    });
    out.figures.push_back(merged(parts));
  }
  for (const std::string& id : ids_of(documents, title, &ReportSection::tables)) {
    std::vector<std::pair<const std::string*, const ReportTable*>> parts, others;
    each(id, &ReportSection::tables, [&](size_t i, const ReportTable& table) {
      const bool fits = parts.empty() || parts[0].second->table.columns == table.table.columns;
      (fits ? parts : others).emplace_back(&documents[i].name, &table);
    });
    out.tables.push_back(merged(parts));
    for (const auto& other : others) out.tables.push_back(merged({other}));
  }
  return out;
}

// A note that several have is one, with their names.
std::vector<std::string> merged_notes(const std::vector<ReportDocument>& documents) {
  std::vector<std::pair<std::string, std::vector<std::string>>> notes;  // and who has them
  for (const ReportDocument& document : documents)
    for (const std::string& note : document.notes) {
      auto found = std::ranges::find(notes, note, &std::pair<std::string, std::vector<std::string>>::first);
      if (found == notes.end()) found = notes.insert(notes.end(), {note, {}});
      if (found->second.empty() || found->second.back() != document.name)
        found->second.push_back(document.name);
    }
  std::vector<std::string> out;
  out.reserve(notes.size());
  for (const auto& [note, names] : notes) out.push_back(fmt::format("{}: {}", fmt::join(names, ", "), note));
  return out;
}

// Where numbers of the documents were measured on different data: which.
std::vector<std::string> data_warning(const std::vector<ReportDocument>& documents) {
  std::vector<std::string> words;
  std::set<std::string> different;
  for (const ReportDocument& document : documents) {
    const ReportCard *hash = card_of(document, "data_hash"), *rows = card_of(document, "measured_on"),
                     *data = card_of(document, "data");
    const ReportCard* known = hash != nullptr ? hash : rows != nullptr ? rows : data;
    if (known == nullptr) continue;
    different.insert(known->value);
    words.push_back(fmt::format("{}: {}{}", document.name,
                                hash != nullptr && data != nullptr ? data->value + " " : "", known->value));
  }
  if (different.size() < 2) return {};
  return {
      fmt::format("These reports were measured on different data, so their numbers cannot be compared: {}. "
                  "'selfnorm audit MODEL DATA' of each on the same DATA gives numbers that can.",
                  fmt::join(words, "; "))};
}

}  // namespace

ReportDocument compared(std::vector<ReportDocument> documents) {
  if (documents.size() == 1) return std::move(documents[0]);
  make_names_different(documents);
  ReportDocument out{.name = "comparison",
                     .command = "report",
                     .title = fmt::format("{} reports compared", documents.size()),
                     .notes = data_warning(documents)};
  for (std::string& note : merged_notes(documents)) out.notes.push_back(std::move(note));
  out.sections.push_back(
      {.title = "Compared", .figures = trade_figure(documents), .tables = {card_table(documents)}});
  for (const ReportDocument& document : documents) {
    for (const ReportSection& section : document.sections) {
      if (std::ranges::find(out.sections, section.title, &ReportSection::title) == out.sections.end())
        out.sections.push_back(merged_section(documents, section.title));
    }
  }
  return out;
}

}  // namespace selfnorm
