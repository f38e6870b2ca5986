// Rows of numbers, row-major, where they are in memory.
#pragma once

#include <cstdint>
#include <span>

namespace selfnorm {

struct Rows {
  std::span<const float> values;
  uint32_t columns = 0;

  uint64_t rows() const { return columns == 0 ? 0 : values.size() / columns; }
};

}  // namespace selfnorm
