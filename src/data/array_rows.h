// The rows of an array of numbers, looked at in place.
#pragma once

#include <span>

#include "selfnorm/data/array_file.h"

namespace selfnorm {

class ArrayRows {
 public:
  ArrayRows(ArrayView view, uint64_t rows, uint32_t columns)
      : view_(std::move(view)), rows_(rows), columns_(columns) {}

  uint64_t rows() const { return rows_; }
  uint32_t columns() const { return columns_; }

  // Row-major; rows begin .. end-1, or those listed in that order. Throw DataError naming the file and the
  // row for a value that is not finite.
  void block(uint64_t begin, uint64_t end, std::span<float> to) const;
  void gather(std::span<const uint64_t> rows, std::span<float> to) const;

  // Rows begin .. end-1 are not needed for now.
  void release(uint64_t begin, uint64_t end) const;

 private:
  void check_row(std::span<const float> values, uint64_t row) const;

  ArrayView view_;
  uint64_t rows_;
  uint32_t columns_;
};

}  // namespace selfnorm
