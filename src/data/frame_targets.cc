#include "selfnorm/data/frame_targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frame_text.h"
#include "quote.h"
#include "selfnorm/base/error.h"

namespace selfnorm {
namespace {

std::vector<const FrameColumn*> target_columns(const Frame& frame, const std::vector<std::string>& names) {
  std::vector<const FrameColumn*> columns;
  for (const std::string& name : names) {
    const FrameColumn* column = frame.find(name);
    if (column == nullptr) {
      std::string list;
      for (size_t c = 0; c < frame.columns.size() && c < 8; ++c)
        list += (c > 0 ? ", " : "") + quoted_text(frame.columns[c].name);
      throw DataError(frame.file, 0,
                      fmt::format("found no target column {}; the columns are {}{}", quoted_text(name), list,
                                  frame.columns.size() > 8 ? ", ..." : ""));
    }
    if (std::find(columns.begin(), columns.end(), column) != columns.end())
      throw DataError(frame.file, 0, fmt::format("the target column {} is named twice", quoted_text(name)));
    columns.push_back(column);
  }
  return columns;
}

bool is_missing_at(const FrameColumn& column, uint64_t row) {
  return column.is_numeric ? std::isnan(column.number[row]) : column.level[row] == kMissingLevel;
}

std::vector<uint64_t> rows_where(const Frame& frame, const std::vector<std::string>& names, bool missing) {
  const auto columns = target_columns(frame, names);
  std::vector<uint64_t> rows;
  for (uint64_t row = 0; row < frame.rows; ++row)
    if (missing == std::any_of(columns.begin(), columns.end(),
                               [&](const FrameColumn* column) { return is_missing_at(*column, row); }))
      rows.push_back(row);
  return rows;
}

}  // namespace

std::vector<uint64_t> rows_without_targets(const Frame& frame, const std::vector<std::string>& names) {
  return rows_where(frame, names, true);
}

std::vector<uint64_t> rows_with_targets(const Frame& frame, const std::vector<std::string>& names) {
  return rows_where(frame, names, false);
}

std::vector<double> numeric_targets(const Frame& frame, const std::vector<std::string>& names,
                                    std::span<const uint64_t> rows) {
  const auto columns = target_columns(frame, names);
  for (const FrameColumn* column : columns)
    if (!column->is_numeric) fail_text(frame, *column, "the target column");
  std::vector<double> values;
  values.reserve(rows.size() * columns.size());
  for (const uint64_t row : rows) {
    SELFNORM_CHECK(row < frame.rows);
    for (const FrameColumn* column : columns) {
      if (is_missing_at(*column, row))
        throw DataError(frame.file, frame.line[row],
                        fmt::format("in the target column {}: found a missing value, expected a number; "
                                    "leave such rows out",
                                    quoted_text(column->name)));
      values.push_back(column->number[row]);
    }
  }
  return values;
}

TargetDistinct target_distinct(std::span<const double> values, size_t columns, size_t column) {
  SELFNORM_CHECK(column < columns && values.size() >= columns && values.size() % columns == 0);
  std::vector<double> sorted;
  for (size_t i = column; i < values.size(); i += columns) sorted.push_back(values[i]);
  std::sort(sorted.begin(), sorted.end());
  TargetDistinct out;
  size_t most = 0;
  for (size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
    while (end < sorted.size() && sorted[end] == sorted[begin]) ++end;
    ++out.distinct;
    if (end - begin <= most) continue;
    most = end - begin;
    out.most_frequent = sorted[begin];
  }
  out.share = static_cast<double>(most) / static_cast<double>(sorted.size());
  return out;
}

}  // namespace selfnorm
