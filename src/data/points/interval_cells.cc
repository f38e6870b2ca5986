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

}  // namespace

std::optional<IntervalTable> interval_table(std::string_view text, char separator, Header header,
                                            const std::vector<std::string>& words) {
  if (text.find(kBetween) == std::string_view::npos) return std::nullopt;
  IntervalTable out;
  struct FieldPlace {
    size_t begin, size;  // in the text
  };
  std::vector<FieldPlace> places;
  std::vector<bool> has_others, has_intervals;
  std::string_view rest = text;
  uint64_t lines = 0;
  Fields fields;
  for (bool is_first = true; !rest.empty();) {
    const uint64_t line = lines + 1;
    const std::string_view record = take_record(rest, {separator}, lines);
    if (record.empty()) continue;
    if (!fields.split(record, separator).empty()) return std::nullopt;  // which the reader of tables says
    const bool may_be_header = std::exchange(is_first, false);
    if (may_be_header) {
      has_others.resize(fields.size());
      has_intervals.resize(fields.size());
    }
    const auto is_value = [&](std::string_view field) {
      return is_number(field) || parse_interval(field, separator);
    };
    const std::vector<std::string> all = fields.strings();
    if (may_be_header && header != Header::no &&
        (header == Header::yes || std::ranges::none_of(all, is_value))) {
      for (size_t c = 0; c < all.size(); ++c) has_others[c] = std::ranges::find(words, all[c]) != words.end();
      continue;
    }
    for (uint32_t c = 0; c < fields.size() && c < has_others.size(); ++c) {
      const std::string_view field = fields[c];
      if (is_number(field) || is_missing_word(field)) continue;
      const auto ends = parse_interval(field, separator);
      if (!ends && field.find(kBetween) == std::string_view::npos) {
        has_others[c] = true;
        continue;
      }
      if (ends) has_intervals[c] = true;
      out.cells.push_back(
          {out.rows, line, c, ends ? ends->low : NAN, ends ? ends->high : NAN, std::string(field)});
      places.push_back({static_cast<size_t>(field.data() - text.data()), field.size()});
    }
    ++out.rows;
  }
  for (size_t c = 0; c < has_others.size(); ++c)
    if (std::ranges::find(words, std::to_string(c)) != words.end()) has_others[c] = true;
  size_t copied = 0, kept = 0;
  for (size_t i = 0; i < out.cells.size(); ++i) {
    IntervalTable::Cell& cell = out.cells[i];
    if (has_others[cell.column] || !has_intervals[cell.column]) continue;
    out.text.append(text.substr(copied, places[i].begin - copied));
    out.text += std::isnan(cell.low) ? "0" : fmt::format("{}", Ends{cell.low, cell.high}.inside());
    copied = places[i].begin + places[i].size;
    if (kept != i) out.cells[kept] = std::move(cell);
    ++kept;
  }
  if (kept == 0) return std::nullopt;
  out.cells.resize(kept);
  out.text.append(text.substr(copied));
  return out;
}

}  // namespace selfnorm
