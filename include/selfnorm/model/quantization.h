// Stored forms of float32 weights (bounds in model_file.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace selfnorm {

// Rows of `columns` weights each.
struct Int8Rows {
  std::vector<int8_t> values;  // -127 .. 127
  std::vector<float> scale;    // one per row
};
Int8Rows to_int8(std::span<const float> weight, size_t columns);

// Each weight becomes what is read back after storing it.
void round_to_int8(std::span<float> weight, size_t columns);

}  // namespace selfnorm
