#include "selfnorm/model/quantization.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

namespace selfnorm {

Int8Rows to_int8(std::span<const float> weight, size_t columns) {
  Int8Rows out;
  out.values.reserve(weight.size());
  for (size_t begin = 0; begin < weight.size(); begin += columns) {
    const auto row = weight.subspan(begin, columns);
    float largest = 0;
    for (const float w : row) largest = std::max(largest, std::fabs(w));
    const float scale = largest == 0 ? 0 : std::max(largest / 127, FLT_MIN);
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
