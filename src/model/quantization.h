// Stored forms of float32 weights (bounds in model_file.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace selfnorm {

// Rows of `columns` weights each.
struct Int8Rows {
  std::vector<int8_t> values;  // -127 .. 127
  std::vector<float> scale;    // one per row, each a bfloat16
};
// The largest q of a row is 126 or 127. A row of 126 would fit the scale before, too: one that is already a
// multiple of its scale keeps it, so that storing what was stored changes nothing.
Int8Rows to_int8(std::span<const float> weight, size_t columns);

// Each weight becomes what is read back after storing it.
void round_to_int8(std::span<float> weight, size_t columns);

}  // namespace selfnorm
