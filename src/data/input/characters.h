// The one parser of decimal numbers. Every function stops at the first byte that cannot continue the number;
// `*end` must be readable and be no part of a number (a line end, a separator, a terminating zero).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace selfnorm {

// The float32 nearest to the decimal at `begin`; returns the byte after it; nullptr: no finite number.
const char* parse_float_slowly(const char* begin, const char* end, float& value);

// m 10^e with m < 10^19, |e| <= 22 in double: two roundings, relative error below 2^-52, so the float32 is
// right unless the double is subnormal or its low 29 bits are 2^28 +- 4, near the midpoint of two floats.
inline const char* parse_float(const char* begin, const char* end, float& value) {
  static constexpr double kPower[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                      1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const char* p = begin;
  bool negative = *p == '-';
  if (negative) ++p;
  uint64_t mantissa = 0;
  const char* digits = p;
  unsigned digit;
  while ((digit = static_cast<unsigned char>(*p) - unsigned{'0'}) < 10) mantissa = 10 * mantissa + digit, ++p;
  int64_t count = p - digits;
  int64_t fraction = 0;
  if (*p == '.') {
    const char* point = ++p;
    while ((digit = static_cast<unsigned char>(*p) - unsigned{'0'}) < 10)
      mantissa = 10 * mantissa + digit, ++p;
    fraction = p - point;
    count += fraction;
  }
  if (count == 0 || count > 19 || (*p | 0x20) == 'e') return parse_float_slowly(begin, end, value);
  double scaled = static_cast<double>(mantissa) / kPower[fraction];
  uint64_t bits = __builtin_bit_cast(uint64_t, scaled) & 0x1FFFFFFFu;
  if (bits - (0x10000000u - 4) <= 8 || (scaled < 1.2e-38 && mantissa != 0))
    return parse_float_slowly(begin, end, value);
  float magnitude = static_cast<float>(scaled);
  value = negative ? -magnitude : magnitude;
  return p;
}

// Digits only; nullptr when there are none or they exceed 2^64 - 1.
inline const char* parse_natural(const char* begin, const char*, uint64_t& value) {
  const char* p = begin;
  uint64_t n = 0;
  unsigned digit;
  while ((digit = static_cast<unsigned char>(*p) - unsigned{'0'}) < 10) {
    if (p - begin >= 18 &&
        (__builtin_mul_overflow(n, uint64_t{10}, &n) || __builtin_add_overflow(n, digit, &n)))
      return nullptr;
    if (p - begin < 18) n = 10 * n + digit;
    ++p;
  }
  value = n;
  return p == begin ? nullptr : p;
}

// The whole token as the nearest double: false when it is no number; nan, inf and what overflows are.
bool parse_double(std::string_view token, double& value);

bool is_number(std::string_view token);  // whole token; nan and inf count, so that a bad value is no header

// "-1,25" and "1,5e-3": a number but for the comma in the place of the point.
bool has_decimal_comma(std::string_view token);

// An empty field, NA, N/A, NaN, null, none or ? in any case.
bool is_missing_word(std::string_view field);

// Why parse_float refused this token: "found 'abc', expected a finite number".
std::string number_error(std::string_view token);

// Length of the well-formed UTF-8 sequence at the start of `text`, which is not empty; 0 when there is none.
// As RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF.
size_t utf8_length(std::string_view text);

// `text` with U+FFFD in the place of every byte that belongs to no well-formed sequence.
std::string utf8_repaired(std::string_view text);

bool is_well_formed(std::string_view text);  // all of it

// Appends a code point; what is none becomes U+FFFD.
void append_utf8(uint32_t c, std::string& out);

std::string lowercase(std::string_view text);  // of ASCII

// `text` without the `blanks` at its ends.
std::string_view trimmed(std::string_view text, std::string_view blanks);

// How bad data are shown in an error message: 'text', cut at 40 bytes (then '...'), with control characters
// and bytes that are not UTF-8 written as \xNN.
std::string quoted_text(std::string_view text);

}  // namespace selfnorm
