// A table whose columns have names and kinds, whole in memory: what regressors are trained on. CSV and TSV
// with a header (quotes, CR LF, UTF-8, gzip as every reader here), or without one (columns 0, 1, ...); npz
// and safetensors with arrays x (n x p) and, if there is one, y (n, or n x d), whose columns are x0, x1, ...
// and y (or y0, y1, ...).
//
// A column is numeric when every value that is there is a number, otherwise categorical. Missing: an empty
// field, NA, N/A, NaN, null, none or ? in any case. Bytes that are no UTF-8 become U+FFFD.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/input/source.h"

namespace selfnorm {

inline constexpr uint32_t kMissingLevel = std::numeric_limits<uint32_t>::max();

struct FrameColumn {
  std::string name;
  bool is_numeric = true;
  std::vector<double> number{};       // numeric: finite, or NaN where it is missing
  std::vector<uint32_t> level{};      // categorical: place in `levels`, or kMissingLevel
  std::vector<std::string> levels{};  // in the order of their first appearance
};

struct Frame {
  std::string file;
  uint64_t rows = 0;
  std::vector<FrameColumn> columns{};
  std::vector<uint64_t> line{};  // of every row, from 1; of arrays its number, from 1
  RowNumbers numbers{};

  const FrameColumn* find(const std::string& name) const;  // null: no such column
};

// Columns are named, or given by their number from 0; one may be in one list alone.
struct FrameOptions {
  std::vector<std::string> categorical{};  // columns that are so although they look like numbers
  std::vector<std::string> numeric{};      // columns in which text is an error that names file and line
  std::vector<std::string> ignored{};      // columns that are not read
  std::string header = "auto";             // auto | yes | no
  bool has_missing_words = true;           // false: in categorical columns an empty field alone is missing
};

// Throws DataError naming file, line, what was found and what was expected: no rows, rows of another length,
// infinite numbers, names of columns that are not there or appear twice. "-" is standard input.
Frame read_frame(const std::string& path, const FrameOptions& options = {});

// FILE.csv: a header and shortest round-trip decimals, missing values as empty fields, so reading gives the
// same back; a line of one empty field is quoted. Appears whole or not at all.
void write_frame(const Frame& frame, const std::string& path);

// Rows in which a target, a column to be predicted, is missing. Throws DataError without such a column.
std::vector<uint64_t> rows_without_targets(const Frame& frame, const std::vector<std::string>& names);

// Those in which none is.
std::vector<uint64_t> rows_with_targets(const Frame& frame, const std::vector<std::string>& names);

// rows.size() x names.size(), row-major, finite. Throws DataError naming the line: a column that is not there
// or named twice, text, a missing value.
std::vector<double> numeric_targets(const Frame& frame, const std::vector<std::string>& names,
                                    std::span<const uint64_t> rows);

// How far a target is from continuous: 1 distinct value is a constant, and where a share of the rows have the
// same value the likelihood of a density has no upper bound.
struct TargetDistinct {
  uint64_t distinct = 0;
  double most_frequent = 0;  // that value, the smallest of them
  double share = 0;          // of the rows that have it
};

// Of column `column` of n x columns values; n >= 1, all finite.
TargetDistinct target_distinct(std::span<const double> values, size_t columns, size_t column);

// Opens the same bytes again, after a byte order mark.
using Reopen = std::function<std::unique_ptr<Input>()>;

// A column that is not declared is read as numbers until a text is found in it; then it is read once more.
Frame read_table_frame(const Reopen& open, char separator, const FrameOptions& options);

// DataError at the first text of a categorical column that is no number; `role` stands before its name.
[[noreturn]] void fail_text(const Frame& frame, const FrameColumn& column, const char* role);

}  // namespace selfnorm
