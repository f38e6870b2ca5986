#include "frame_arrays.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "element_load.h"
#include "named_arrays.h"
#include "quote.h"
#include "selfnorm/base/error.h"
#include "selfnorm/base/memory.h"
#include "selfnorm/data/string_index.h"

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
  if (entry.elements == 0) fail("found no rows of data");
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
          throw DataError(entry.place, r + 1,
                          fmt::format("row {}, column {}: found {}, expected a finite number", r + 1, c,
                                      column.number[r]));
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

}  // namespace

Frame read_array_frame(const ArrayFile& file, const FrameOptions& options) {
  if (options.header != "auto")
    throw DataError(file.name(), 0, "found an array file, but a header (--header) is for csv and tsv");
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
    throw DataError(file.name(), 0,
                    fmt::format("found no column {}; the columns are '{}' to '{}'", quoted_text(name),
                                frame.columns.front().name, frame.columns.back().name));
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

}  // namespace selfnorm
