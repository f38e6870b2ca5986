// Real tables as points: every column a number, dequantised where few values repeat.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace selfnorm {

struct RealTable {
  std::string name;
  uint32_t columns = 0;
  std::vector<float> values;  // row-major
  uint64_t duplicates = 0;    // rows that were left out because they are there already
  uint32_t dequantised = 0;   // columns that got noise

  uint64_t rows() const { return columns == 0 ? 0 : values.size() / columns; }
};

// Numbers between blanks or commas, one row a line; words are skipped, empty lines too. A row that repeats an
// earlier one is left out. A column that has fewer different values than half the rows and whose values are
// whole multiples of a power of ten u >= 1e-6 gets noise U(0, u): a density of repeated values would have no
// upper bound. Throws Error, or
// DataError naming file and line.
RealTable read_real_table(const std::string& name, const std::string& path, uint64_t seed);

}  // namespace selfnorm
