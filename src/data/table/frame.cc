#include "data/table/frame.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <numeric>

#include "base/atomic_file.h"
#include "base/failure.h"
#include "base/memory.h"
#include "data/array/array.h"
#include "data/array/array_file.h"
#include "data/array/named_arrays.h"
#include "data/input/characters.h"
#include "data/input/sniff.h"
#include "data/read.h"
#include "data/string_index.h"
#include "data/table/json_lines.h"
#include "data/table/table_sample.h"
#include "data/write.h"

namespace selfnorm {
namespace {

// Columns STEM0, STEM1, ...; where `single` is given, an only column is called so.
void append_columns(const ArrayFile& file, const ArrayEntry& entry, const std::string& stem,
                    const std::string& single, Frame& frame) {
  const auto fail = [&](const std::string& what) { throw DataError(entry.place, 0, what); };
  if (!entry.problem.empty()) throw Error(entry.problem);
  if (!entry.type.is_number()) fail("found elements that are not numbers");
  if (entry.shape.empty() || entry.shape.size() > 2)
    fail(fmt::format("found an array of shape {}, expected rows or rows x columns", entry.shape_text()));
  if (entry.elements == 0) fail(kNoRows);
  const uint64_t rows = entry.shape[0], columns = entry.elements / rows;
  if (!frame.columns.empty() && rows != frame.rows)
    fail(fmt::format("found {} rows, expected {} as in the other array", rows, frame.rows));
  require_memory(8.0 * static_cast<double>(entry.elements), fmt::format("the numbers of {}", entry.place),
                 "take fewer rows");
  frame.rows = rows;
  const ArrayView view = file.view(entry);
  with_number_type(entry.type, [&](auto zero) {
    using T = decltype(zero);
    for (uint64_t c = 0; c < columns; ++c) {
      FrameColumn column{.name = columns == 1 && !single.empty() ? single : fmt::format("{}{}", stem, c)};
      column.number.resize(rows);
      for (uint64_t r = 0; r < rows; ++r) {
        const uint64_t at = entry.fortran_order ? c * rows + r : r * columns + c;
        const T element = load_element<T>(view.bytes.data() + at * sizeof(T), entry.type.big_endian);
        if constexpr (std::is_arithmetic_v<T>)
          column.number[r] = static_cast<double>(element);
        else
          column.number[r] = double{static_cast<float>(element)};
        if (std::isinf(column.number[r]))
          throw_at(entry.place, r + 1, "row {}, column {}: found {}, expected a finite number", r + 1, c,
                   column.number[r]);
      }
      frame.columns.push_back(std::move(column));
    }
  });
}

void make_categorical(FrameColumn& column) {
  StringIndex levels;
  for (const double value : column.number)
    column.level.push_back(std::isnan(value) ? kMissingLevel : levels.add(fmt::format("{}", value)));
  column.levels = levels.strings();
  column.is_numeric = false;
  column.number = {};
}

Frame read_array_frame(const ArrayFile& file, const FrameOptions& options) {
  if (options.header != "auto")
    throw_at(file.name(), 0, "found an array file, but a header (`header`) is for csv and tsv");
  Frame frame;
  frame.file = file.name();
  append_columns(file, choose_features(file, {}), "x", "", frame);
  if (const ArrayEntry* targets = file.format() == ArrayFormat::npy ? nullptr : choose_labels(file))
    append_columns(file, *targets, "y", "y", frame);
  frame.line.resize(frame.rows);
  std::iota(frame.line.begin(), frame.line.end(), uint64_t{1});

  StringIndex names;
  for (const FrameColumn& column : frame.columns) names.add(column.name);
  const auto place = [&](const std::string& name) {
    if (const auto c = names.find(name)) return *c;
    throw_at(file.name(), 0, "found no column {}; the columns are '{}' to '{}'", quoted_text(name),
             frame.columns.front().name, frame.columns.back().name);
  };
  std::vector<bool> is_ignored(frame.columns.size());
  for (const std::string& name : options.numeric) place(name);
  for (const std::string& name : options.ignored) is_ignored[place(name)] = true;
  for (const std::string& name : options.categorical)
    if (frame.columns[place(name)].is_numeric) make_categorical(frame.columns[place(name)]);
  std::vector<FrameColumn> kept;
  for (size_t c = 0; c < frame.columns.size(); ++c)
    if (!is_ignored[c]) kept.push_back(std::move(frame.columns[c]));
  if (kept.empty()) throw DataError(file.name(), 0, "found no column that is not left out");
  frame.columns = std::move(kept);
  return frame;
}

// What is no file, a pipe, is held in memory.
Reopen reopening(const std::string& path) {
  const auto marked = [](std::unique_ptr<Input> input) {
    input->skip_byte_order_mark();
    return input;
  };
  std::error_code ignored;
  if (path != "-" && std::filesystem::is_regular_file(path, ignored) && !is_json_lines(*Input::open(path)))
    return [marked, path] { return marked(Input::open(path)); };
  const auto input = opened_table(Input::open(path));
  return [marked, name = input->name(), bytes = input->read_rest()] {
    return marked(Input::memory(name, bytes));
  };
}

void append_value(const FrameColumn& column, uint64_t row, std::string& line) {
  if (!column.is_numeric && column.level[row] != kMissingLevel)
    line += csv_field(column.levels[column.level[row]]);
  if (column.is_numeric && !std::isnan(column.number[row]))
    fmt::format_to(std::back_inserter(line), "{}", column.number[row]);
}

std::vector<const FrameColumn*> target_columns(const Frame& frame, const std::vector<std::string>& names) {
  std::vector<const FrameColumn*> columns;
  for (const std::string& name : names) {
    const FrameColumn* column = frame.find(name);
    if (column == nullptr) {
      std::vector<std::string> names_there;
      for (const FrameColumn& there : frame.columns) names_there.push_back(there.name);
      throw_at(frame.file, 0, "found no target column {}; the columns are {}", quoted_text(name),
               shown_names(names_there));
    }
    if (std::find(columns.begin(), columns.end(), column) != columns.end())
      throw_at(frame.file, 0, "the target column {} is named twice", quoted_text(name));
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

const FrameColumn* Frame::find(const std::string& name) const {
  const auto found =
      std::find_if(columns.begin(), columns.end(), [&](const FrameColumn& c) { return c.name == name; });
  return found == columns.end() ? nullptr : &*found;
}

Frame read_frame(const std::string& path, const FrameOptions& options) {
  const Reopen open = reopening(path);
  const auto input = open();
  if (is_array_head(input->peek(kArrayHead))) {
    auto storage = input->storage();
    const std::string name = input->name();
    return read_array_frame(ArrayFile(name, storage ? storage : owned_storage(input->read_rest())), options);
  }
  const Format format = detect_format(*input, {});
  if (format != Format::csv && format != Format::tsv && format != Format::text)
    throw_at(input->name(), 0, "found {} data, expected csv, tsv, npz or safetensors", format_name(format));
  return read_table_frame(open, table_separator(*input, format), options);
}

void write_frame(const Frame& frame, const std::string& path) {
  if (!path.ends_with(".csv"))
    throw_error("cannot write a table to {}: expected a name that ends with .csv", path);
  AtomicFile file(path);
  std::string line;
  for (const FrameColumn& column : frame.columns) line += (line.empty() ? "" : ",") + csv_field(column.name);
  file.write(line + "\n");
  for (uint64_t row = 0; row < frame.rows; ++row) {
    line.clear();
    for (size_t c = 0; c < frame.columns.size(); ++c) {
      if (c > 0) line += ',';
      append_value(frame.columns[c], row, line);
    }
    file.write(line.empty() ? "\"\"\n" : line + "\n");
  }
  file.commit();
}

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
        throw_at(frame.file, frame.line[row],
                 "in the target column {}: found a missing value, expected a number; leave such rows out",
                 quoted_text(column->name));
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
