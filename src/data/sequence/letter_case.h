// Simple case mapping of UnicodeData.txt (Unicode 15) for Latin, Greek, Cyrillic and Armenian, whatever the
// locale.
#pragma once

#include <initializer_list>

namespace selfnorm {

inline constexpr char32_t lower_case(char32_t c) {
  const auto within = [c](char32_t first, char32_t last) { return c >= first && c <= last; };
  if (c < 0x80) return within('A', 'Z') ? c + 32 : c;
  if ((within(0xC0, 0xDE) && c != 0xD7) || (within(0x391, 0x3AB) && c != 0x3A2) || within(0x410, 0x42F))
    return c + 32;
  const bool is_even_upper = (within(0x100, 0x137) && c != 0x130) || within(0x14A, 0x177) ||
                             within(0x460, 0x481) || within(0x48A, 0x4BF) || within(0x4D0, 0x52F) ||
                             within(0x1E00, 0x1E95) || within(0x1EA0, 0x1EFF);
  if (c == 0x1E9E) return 0xDF;
  if (is_even_upper) return c | 1u;
  if (within(0x139, 0x148) || within(0x179, 0x17E) || within(0x4C1, 0x4CE)) return c + (c & 1u);
  if (c == 0x178) return 0xFF;
  if (c == 0x4C0) return 0x4CF;
  if (c == 0x386) return 0x3AC;
  if (within(0x388, 0x38A)) return c + 37;
  if (c == 0x38C) return 0x3CC;
  if (within(0x38E, 0x38F)) return c + 63;
  if (within(0x400, 0x40F)) return c + 80;
  if (within(0x531, 0x556)) return c + 48;
  return c;
}

inline constexpr bool is_upper_case(char32_t c) { return lower_case(c) != c; }

// The lower case of another letter, or sharp s.
inline constexpr bool is_lower_case(char32_t c) {
  if (c == 0xDF || c == 0xFF) return true;
  for (const char32_t shift : {1u, 15u, 32u, 37u, 38u, 48u, 63u, 64u, 80u})
    if (c > shift && c - shift >= 'A' && lower_case(c - shift) == c) return true;
  return false;
}

}  // namespace selfnorm
