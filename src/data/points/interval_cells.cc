#include "data/points/interval_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "data/input/characters.h"
#include "data/input/records.h"
#include "data/table/table_sample.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

constexpr std::string_view kBetween = "..";

struct Ends {
  double low, high;

  double inside() const {
    if (std::isinf(low)) return high;
    return std::isinf(high) ? low : low / 2 + high / 2;
  }
};

// A decimal comma can only be one where commas do not separate.
bool parse_end(std::string_view text, char separator, double& value) {
  if (separator == ',' || !has_decimal_comma(text)) return parse_double(text, value) && std::isfinite(value);
  std::string with_point(text);
  with_point[with_point.find(',')] = '.';
  return parse_double(with_point, value) && std::isfinite(value);
}

// "1.5..2", "1..", "..2": nothing for other fields. Of "1...2" the first two points are the mark.
std::optional<Ends> parse_interval(std::string_view field, char separator) {
  if (field == kBetween) return std::nullopt;
  for (size_t mark = field.find(kBetween); mark != std::string_view::npos;
       mark = field.find(kBetween, mark + 1)) {
    const std::string_view low = trimmed(field.substr(0, mark), " "),
                           high = trimmed(field.substr(mark + kBetween.size()), " ");
    Ends ends{-kInfinity, kInfinity};
    if (!low.empty() && !parse_end(low, separator, ends.low)) continue;
    if (!high.empty() && !parse_end(high, separator, ends.high)) continue;
    return ends;
  }
  return std::nullopt;
}

// Takes the first field of a record off it, as it stands there.
std::string_view take_field(std::string_view& record, char separator) {
  size_t close = 0;
  if (record.starts_with('"')) {
    close = record.find('"', 1);
    while (close + 1 < record.size() && record[close + 1] == '"') close = record.find('"', close + 2);
  }
  const size_t end = std::min(record.find(separator, close), record.size());
  const std::string_view out = record.substr(0, end);
  record.remove_prefix(std::min(end + 1, record.size()));
  return out;
}

// What the first record is. Either: its intervals are read as those of rows, and say nothing of its columns.
enum class First { names, row, either };

std::optional<IntervalTable> read_cells(std::string_view text, char separator, First first,
                                        const std::vector<std::string>& words) {
  IntervalTable out;
  std::vector<std::string_view> places;  // in the text
  std::vector<bool> has_others, has_intervals;
  std::string_view rest = text;
  uint64_t lines = 0;
  Fields fields;
  for (bool is_first = true; !rest.empty();) {
    const uint64_t line = lines + 1;
    std::string_view record = take_record(rest, {separator}, lines);
    if (record.empty()) continue;
    if (!fields.split(record, separator).empty()) return std::nullopt;  // which the reader of tables says
    const bool may_be_header = std::exchange(is_first, false) && first != First::row;
    if (has_others.empty()) {
      has_others.resize(fields.size());
      has_intervals.resize(fields.size());
    }
    for (uint32_t c = 0; c < fields.size() && c < has_others.size(); ++c) {
      const std::string_view field = fields[c], place = take_field(record, separator);
      if (may_be_header && std::ranges::find(words, field) != words.end()) has_others[c] = true;
      if ((may_be_header && first == First::names) || is_number(field) || is_missing_word(field)) continue;
      const auto ends = parse_interval(field, separator);
      if (!ends && (may_be_header || field.find(kBetween) == std::string_view::npos)) {
        if (!may_be_header) has_others[c] = true;
        continue;
      }
      if (!may_be_header && ends) has_intervals[c] = true;
      out.cells.push_back(
          {out.rows, line, c, ends ? ends->low : NAN, ends ? ends->high : NAN, std::string(field)});
      places.push_back(place);
    }
    if (!may_be_header || first != First::names) ++out.rows;
  }
  for (size_t c = 0; c < has_others.size(); ++c)
    if (std::ranges::find(words, std::to_string(c)) != words.end()) has_others[c] = true;
  size_t copied = 0, kept = 0;
  for (size_t i = 0; i < out.cells.size(); ++i) {
    IntervalTable::Cell& cell = out.cells[i];
    if (has_others[cell.column] || !has_intervals[cell.column]) continue;
    const auto begin = static_cast<size_t>(places[i].data() - text.data());
    out.text.append(text.substr(copied, begin - copied));
    out.text += std::isnan(cell.low) ? "0" : fmt::format("{}", Ends{cell.low, cell.high}.inside());
    copied = begin + places[i].size();
    if (kept != i) out.cells[kept] = std::move(cell);
    ++kept;
  }
  if (kept == 0) return std::nullopt;
  out.cells.resize(kept);
  out.text.append(text.substr(copied));
  return out;
}

}  // namespace

std::optional<IntervalTable> interval_table(const std::string& file, std::string_view text, char separator,
                                            Header& header, const std::vector<std::string>& words) {
  if (text.find(kBetween) == std::string_view::npos) return std::nullopt;
  if (header == Header::automatic) {
    const auto either = read_cells(text, separator, First::either, words);
    const auto input = Input::memory(file, either ? either->text : text);
    const TableSample sample = table_sample(*input, {separator});
    header = TableColumns(file, sample, header).has_header() ? Header::yes : Header::no;
  }
  return read_cells(text, separator, header == Header::yes ? First::names : First::row, words);
}

}  // namespace selfnorm
