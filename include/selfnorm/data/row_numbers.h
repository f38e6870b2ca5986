// The numbers that rows have in their input, from 0. What is no row (a blank line, a comment, a bad row that
// was skipped) has a number too, so row i has number i only where there is nothing of the kind before it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace selfnorm {

class RowNumbers {
 public:
  // Something that is no row stands after the first `rows` rows; in the order of the input.
  void skip(uint64_t rows) { before_.push_back(rows); }

  uint64_t operator[](uint64_t row) const {
    return row + static_cast<uint64_t>(std::ranges::upper_bound(before_, row) - before_.begin());
  }

 private:
  std::vector<uint64_t> before_;  // rows before each
};

}  // namespace selfnorm
