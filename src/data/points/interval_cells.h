// Cells of a table that say between which numbers a value is, `low..high`, `low..` (at least) or `..high` (at
// most): the rows of interval-censored data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/read.h"

namespace selfnorm {

// The table with a number inside every interval in its place: the middle, or the end that there is.
struct IntervalTable {
  struct Cell {
    uint64_t row, line;  // row: from 0, without the header
    uint32_t column;     // of the file
    double low, high;    // NaN: the field has .. in it, but is no interval
    std::string field;
  };
  std::string text;
  uint64_t rows = 0;
  std::vector<Cell> cells;
};

// Nothing: no column has intervals. A column has them where its fields are numbers, missing values and what
// has .. in it, at least one an interval, and it is none of `words`. `header` is decided where it is
// automatic, by the table with numbers in the place of intervals: one that has them in the first record alone
// is as it was. Throws DataError as table_sample does.
std::optional<IntervalTable> interval_table(const std::string& file, std::string_view text, char separator,
                                            Header& header, const std::vector<std::string>& words);

}  // namespace selfnorm
