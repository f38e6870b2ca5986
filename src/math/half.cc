#include "math/half.h"

#include <cstring>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

static_assert(std::endian::native == std::endian::little, "halves are stored as they are in memory");

template <class Convert>
void widen(std::span<const std::byte> from, std::span<float> to, Convert convert) {
  SELFNORM_CHECK(from.size() == 2 * to.size());
  const std::byte* source = from.data();
  float* target = to.data();
  for (size_t i = 0; i < to.size(); ++i) {
    uint16_t bits;
    std::memcpy(&bits, source + 2 * i, 2);
    target[i] = convert(bits);
  }
}

template <class Convert>
void narrow(std::span<const float> from, std::span<std::byte> to, Convert convert) {
  SELFNORM_CHECK(to.size() == 2 * from.size());
  const float* source = from.data();
  std::byte* target = to.data();
  for (size_t i = 0; i < from.size(); ++i) {
    const uint16_t bits = convert(source[i]);
    std::memcpy(target + 2 * i, &bits, 2);
  }
}

}  // namespace

void widen_float16(std::span<const std::byte> from, std::span<float> to) {
  widen(from, to, [](uint16_t bits) { return from_float16(bits); });
}

void widen_bfloat16(std::span<const std::byte> from, std::span<float> to) {
  widen(from, to, [](uint16_t bits) { return from_bfloat16(bits); });
}

void narrow_to_float16(std::span<const float> from, std::span<std::byte> to) {
  narrow(from, to, [](float value) { return to_float16(value); });
}

void narrow_to_bfloat16(std::span<const float> from, std::span<std::byte> to) {
  narrow(from, to, [](float value) { return to_bfloat16(value); });
}

}  // namespace selfnorm
