#include "point_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "number.h"
#include "quote.h"
#include "selfnorm/base/error.h"
#include "table_sample.h"

namespace selfnorm {
namespace {

// The numbers that the model gives to its columns, by name. Every kept column has one and every name a
// column.
void match_names(const TableColumns& columns, const TableSample& sample, const PointOptions& options,
                 TableLayout& layout) {
  const StringIndex known(options.names);
  for (uint32_t c = 0; c < columns.size(); ++c) {
    if (layout.role[c] == TableLayout::kDropped) continue;
    const auto number = known.find(sample.first[c]);
    if (!number)
      columns.fail(fmt::format("found a column {}, which the model does not have; leave it out (--drop)",
                               quoted_text(sample.first[c])));
    layout.role[c] = *number;
  }
  for (const std::string& name : options.names) {
    const auto c = columns.named(name);
    if (!c || layout.role[*c] == TableLayout::kDropped)
      columns.fail(
          fmt::format("found no column {}, which the model has; {}", quoted_text(name), columns.describe()));
  }
  layout.names = options.names;
}

}  // namespace

TableLayout point_layout(Input& input, char separator, const PointOptions& options) {
  TableLayout layout;
  layout.rule = {separator};
  const TableSample sample = table_sample(input, layout.rule);
  const TableColumns columns(input.name(), sample, options.header);
  layout.role.resize(columns.size());
  for (const std::string& name : options.drop) {
    const auto c = columns.find(name);
    if (!c)
      columns.fail(fmt::format("found no column {} to leave out; {}", quoted_text(name), columns.describe()));
    layout.role[*c] = TableLayout::kDropped;
  }
  for (uint32_t c = 0; c < columns.size(); ++c) {
    if (layout.role[c] == TableLayout::kDropped) continue;
    layout.role[c] = layout.features++;
    if (columns.has_header()) layout.names.push_back(sample.first[c]);
  }
  if (layout.features == 0) columns.fail("found no column that is not left out; " + columns.describe());
  if (columns.has_header()) {
    if (!options.names.empty()) match_names(columns, sample, options, layout);
    layout.header_bytes = sample.first_bytes;
    layout.first_line = sample.next_line;
  }
  check_columns(input.name(), layout.features, options);
  layout.advice = " (a column that is no number is left out with --drop)";
  return layout;
}

std::vector<uint32_t> kept_columns(const std::string& file, uint64_t columns,
                                   const std::vector<std::string>& drop) {
  std::vector<bool> is_dropped(columns);
  for (const std::string& name : drop) {
    uint64_t index = 0;
    const char* end = name.c_str() + name.size();
    if (parse_natural(name.c_str(), end, index) != end || index >= columns)
      throw DataError(
          file, 0,
          fmt::format("found no column {} to leave out; the columns have no names, expected 0 to {}",
                      quoted_text(name), columns - 1));
    is_dropped[index] = true;
  }
  std::vector<uint32_t> kept;
  for (uint32_t c = 0; c < columns; ++c)
    if (!is_dropped[c]) kept.push_back(c);
  if (kept.empty()) throw DataError(file, 0, fmt::format("all {} columns are left out", columns));
  return kept;
}

void check_columns(const std::string& file, uint64_t columns, const PointOptions& options) {
  const uint64_t expected = options.columns > 0 ? options.columns : options.names.size();
  if (expected > 0 && columns != expected)
    throw DataError(file, 0, fmt::format("found {} columns, but the model has {}", columns, expected));
}

}  // namespace selfnorm
