#include "math/half.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace selfnorm {
namespace {

constexpr float kFloatInfinity = std::numeric_limits<float>::infinity();

// The definition, in real numbers.
double float16_value(uint16_t half) {
  const int e = half >> 10 & 31, m = half & 1023;
  const double magnitude = e == 0   ? std::ldexp(m, -24)
                           : e < 31 ? std::ldexp(1024 + m, e - 25)
                           : m == 0 ? std::numeric_limits<double>::infinity()
                                    : std::numeric_limits<double>::quiet_NaN();
  return half & 0x8000 ? -magnitude : magnitude;
}

bool is_float16_nan(uint16_t half) { return (half & 0x7C00) == 0x7C00 && (half & 0x3FF) != 0; }

TEST(Half, WideningFloat16IsItsDefinitionForEveryPattern) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const double expected = float16_value(half);
    const float found = from_float16(half);
    ASSERT_EQ(std::signbit(found), (half & 0x8000) != 0) << bits;
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(found)) << bits;
    } else {
      ASSERT_EQ(static_cast<double>(found), expected) << bits;
    }
  }
}

TEST(Half, WideningAndRoundingBackIsIdentityForEveryPattern) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const uint16_t back = to_float16(from_float16(half)), brain = to_bfloat16(from_bfloat16(half));
    if (is_float16_nan(half)) {
      ASSERT_EQ(back, half | 0x200) << bits;  // quiet, payload kept
    } else {
      ASSERT_EQ(back, half) << bits;
    }
    if (std::isnan(from_bfloat16(half))) {
      ASSERT_EQ(brain, half | 0x40) << bits;
    } else {
      ASSERT_EQ(brain, half) << bits;
    }
  }
}

// Between neighbours a < b with midpoint m (all exact in float32): below m gives a, above gives b, and m the
// one with an even last bit. 65520, the midpoint of 65504 and what would be 65536, gives infinity.
template <class To, class From>
void check_rounding(uint16_t infinity, To to, From from) {
  for (uint16_t a = 0; a < infinity; ++a) {
    const auto b = static_cast<uint16_t>(a + 1);
    const float low = from(a);
    const double above = b < infinity ? from(b) : low + (low - static_cast<double>(from(a - 1)));
    const auto middle = static_cast<float>((low + above) / 2);
    ASSERT_EQ((low + above) / 2, static_cast<double>(middle));
    ASSERT_EQ(to(middle), a % 2 == 0 ? a : b) << a;
    ASSERT_EQ(to(std::nextafter(middle, 0.0f)), a) << a;
    ASSERT_EQ(to(std::nextafter(middle, kFloatInfinity)), b) << a;
    ASSERT_EQ(to(-middle), (a % 2 == 0 ? a : b) | 0x8000) << a;
  }
  ASSERT_EQ(to(std::numeric_limits<float>::max()), infinity);
  ASSERT_EQ(to(kFloatInfinity), infinity);
  ASSERT_EQ(to(-kFloatInfinity), infinity | 0x8000);
  ASSERT_EQ(to(-0.0f), 0x8000);
  ASSERT_EQ(to(std::numeric_limits<float>::denorm_min()), 0);
}

TEST(Half, RoundingIsToNearestTiesToEvenBetweenAllNeighbours) {
  check_rounding(0x7C00, to_float16, from_float16);
  check_rounding(0x7F80, to_bfloat16, from_bfloat16);
}

RC_GTEST_PROP(Half, NoFloat16IsNearer, (uint32_t bits)) {
  const auto value = std::bit_cast<float>(bits);
  RC_PRE(std::isfinite(value) && std::abs(value) < 65504);
  const uint16_t half = to_float16(value);
  const double error = std::abs(float16_value(half) - static_cast<double>(value));
  for (const int step : {-1, 1}) {
    const auto other = static_cast<uint16_t>(half + step);
    if ((other & 0x7FFF) > 0x7C00 || ((other ^ half) & 0x8000)) continue;
    RC_ASSERT(error <= std::abs(float16_value(other) - static_cast<double>(value)));
  }
}

TEST(Half, WholeArraysAgreeWithSingleNumbersAtAnyAlignment) {
  const size_t n = 65536;
  std::vector<std::byte> bytes(2 * n + 1), back(2 * n + 1);
  for (size_t offset : {size_t{0}, size_t{1}}) {
    const auto stored = std::span(bytes).subspan(offset, 2 * n);
    const auto written = std::span(back).subspan(offset, 2 * n);
    for (size_t i = 0; i < n; ++i) {
      stored[2 * i] = static_cast<std::byte>(i & 255);
      stored[2 * i + 1] = static_cast<std::byte>(i >> 8);
    }
    const auto half_at = [&](size_t i) {
      return std::to_integer<unsigned>(written[2 * i]) | std::to_integer<unsigned>(written[2 * i + 1]) << 8;
    };
    std::vector<float> out(n);
    const auto same_bits = [&](size_t i, float expected) {
      return std::bit_cast<uint32_t>(out[i]) == std::bit_cast<uint32_t>(expected);
    };
    widen_float16(stored, out);
    for (size_t i = 0; i < n; ++i) ASSERT_TRUE(same_bits(i, from_float16(static_cast<uint16_t>(i)))) << i;
    narrow_to_float16(out, written);
    for (size_t i = 0; i < n; ++i) ASSERT_EQ(half_at(i), to_float16(out[i])) << i;
    widen_bfloat16(stored, out);
    for (size_t i = 0; i < n; ++i) ASSERT_TRUE(same_bits(i, from_bfloat16(static_cast<uint16_t>(i)))) << i;
    narrow_to_bfloat16(out, written);
    for (size_t i = 0; i < n; ++i) ASSERT_EQ(half_at(i), to_bfloat16(out[i])) << i;
  }
}

}  // namespace
}  // namespace selfnorm
