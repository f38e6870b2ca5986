#include "model/quantization.h"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>

namespace selfnorm {

namespace {

// The bfloat16 after s > 0.
float next_bfloat16(float s) { return std::bit_cast<float>((std::bit_cast<uint32_t>(s) | 0xFFFFu) + 1); }

// The least bfloat16 s >= 2^-126 with 127 s >= largest > 0.
float scale_of(float largest) {
  float s = std::max(std::bit_cast<float>(std::bit_cast<uint32_t>(largest / 127) & 0xFFFF0000u), FLT_MIN);
  while (127.0 * s < largest) s = next_bfloat16(s);
  return s;
}

bool is_multiple_of(std::span<const float> row, float scale) {
  return std::all_of(row.begin(), row.end(), [scale](float w) {
    const double q = static_cast<double>(w) / scale;
    return q == std::nearbyint(q);
  });
}

}  // namespace

Int8Rows to_int8(std::span<const float> weight, size_t columns) {
  Int8Rows out;
  out.values.reserve(weight.size());
  for (size_t begin = 0; begin < weight.size(); begin += columns) {
    const auto row = weight.subspan(begin, columns);
    float largest = 0;
    for (const float w : row) largest = std::max(largest, std::fabs(w));
    float scale = largest == 0 ? 0 : scale_of(largest);
    if (scale > 0 && is_multiple_of(row, next_bfloat16(scale))) scale = next_bfloat16(scale);
    out.scale.push_back(scale);
    for (const float w : row) {
      const double q = scale == 0 ? 0 : std::nearbyint(static_cast<double>(w) / scale);
      out.values.push_back(static_cast<int8_t>(std::clamp(q, -127.0, 127.0)));
    }
  }
  return out;
}

void round_to_int8(std::span<float> weight, size_t columns) {
  const Int8Rows stored = to_int8(weight, columns);
  for (size_t i = 0; i < weight.size(); ++i)
    weight[i] = stored.scale[i / columns] * static_cast<float>(stored.values[i]);
}

}  // namespace selfnorm
