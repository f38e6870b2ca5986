// A stored weight as float32; int8 is before its scale. Unnamed namespace: see kernel_lanes.h.
#pragma once

#include <stdint.h>

namespace selfnorm::runtime {
namespace {

inline float widen(float w) { return w; }
inline float widen(int8_t w) { return static_cast<float>(w); }
inline float widen(uint16_t w) {
  const uint32_t bits = static_cast<uint32_t>(w) << 16;
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace
}  // namespace selfnorm::runtime
