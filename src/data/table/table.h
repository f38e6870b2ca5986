// Which column of a table is what.
#pragma once

#include <string>
#include <vector>

#include "data/input/records.h"
#include "data/input/source.h"
#include "data/read.h"

namespace selfnorm {

struct TableLayout {
  static constexpr uint32_t kTarget = 0xFFFFFFFFu;
  static constexpr uint32_t kWeight = 0xFFFFFFFEu;
  static constexpr uint32_t kDropped = 0xFFFFFFFDu;

  RecordRule rule;
  std::vector<uint32_t> role;  // file column -> kTarget, kWeight, kDropped or feature number
  uint32_t features = 0;
  bool has_target = false;
  bool has_weight = false;
  std::vector<std::string> names;  // feature number -> name; empty without a header
  std::string target;              // its column, by name or (without a header) index; empty without one
  uint64_t header_bytes = 0;       // to skip at the start of the input
  uint64_t first_line = 1;         // of the data
  std::string advice;              // what to do about a column that is no number
};

// Looks ahead in the input, takes nothing. Throws DataError.
TableLayout table_layout(Input& input, char separator, const ReadOptions& options);

ReadResult read_table(Input& input, Format format, const ReadOptions& options);
// With the columns as `layout` says.
ReadResult read_table(Input& input, const TableLayout& layout, const ReadOptions& options);

}  // namespace selfnorm
