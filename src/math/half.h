// The two 16-bit floats of other people's files. With sign s, exponent e and mantissa m as stored:
//   float16   1 + 5 + 10 bits (IEEE 754 binary16): (-1)^s 2^(e-15) (1 + m/1024); e = 0: (-1)^s 2^-24 m;
//             e = 31: infinity, or NaN when m > 0; largest 65504
//   bfloat16  1 + 8 + 7 bits: the upper half of a float32
// Widening is exact. Rounding is to nearest, ties to even; beyond the largest infinity; NaN stays NaN.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace selfnorm {

// The exponent is moved from bias 15 to bias 127. A subnormal m becomes 2^-14 (1 + m/1024) - 2^-14, exactly.
inline float from_float16(uint16_t half) {
  constexpr uint32_t kExponent = 0x7C00u << 13, kRebias = (127u - 15u) << 23;
  constexpr uint32_t kSmallestNormal = (127u - 14u) << 23;  // 2^-14
  const uint32_t shifted = (half & 0x7FFFu) << 13, exponent = shifted & kExponent;
  const float subnormal =
      std::bit_cast<float>((shifted & ~kExponent) | kSmallestNormal) - std::bit_cast<float>(kSmallestNormal);
  const uint32_t normal = shifted + kRebias + (exponent == kExponent ? kRebias : 0u);
  const uint32_t magnitude = exponent == 0 ? std::bit_cast<uint32_t>(subnormal) : normal;
  return std::bit_cast<float>(magnitude | (half & 0x8000u) << 16);
}

// Adding half a unit (less one when the last bit kept is even) carries into the exponent as rounding must.
// Below 2^-14 the unit is 2^-24, which is the unit of 0.5 in float32: |x| + 0.5 rounds to it by itself.
inline uint16_t to_float16(float value) {
  constexpr uint32_t kInfiniteBits = 0x7F800000u, kTooLarge = (127u + 16u) << 23,
                     kNormal = (127u - 14u) << 23;
  constexpr uint32_t kRebias = (127u - 15u) << 23, kHalf = 0x3F000000u;  // 0.5
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  const uint32_t normal = (magnitude - kRebias + 0xFFFu + (magnitude >> 13 & 1u)) >> 13;
  const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - kHalf;
  const uint32_t special = magnitude > kInfiniteBits ? 0x7E00u | (magnitude >> 13 & 0x3FFu) : 0x7C00u;
  const uint32_t half = magnitude >= kTooLarge ? special : magnitude < kNormal ? subnormal : normal;
  return static_cast<uint16_t>(half | (bits >> 16 & 0x8000u));
}

inline float from_bfloat16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

inline uint16_t to_bfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16;
  return static_cast<uint16_t>((bits & 0x7FFFFFFFu) > 0x7F800000u ? bits >> 16 | 0x40u : rounded);
}

// Whole arrays. The 16-bit side is bytes as little-endian files have them, at any alignment.
void widen_float16(std::span<const std::byte> from, std::span<float> to);
void widen_bfloat16(std::span<const std::byte> from, std::span<float> to);
void narrow_to_float16(std::span<const float> from, std::span<std::byte> to);
void narrow_to_bfloat16(std::span<const float> from, std::span<std::byte> to);

}  // namespace selfnorm
