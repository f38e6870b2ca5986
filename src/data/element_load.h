// Elements as numbers of the processor.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "selfnorm/base/error.h"
#include "selfnorm/data/element.h"
#include "selfnorm/math/half.h"

namespace selfnorm {

struct Float16 {
  uint16_t bits = 0;
  explicit operator float() const { return from_float16(bits); }
};
struct Bfloat16 {
  uint16_t bits = 0;
  explicit operator float() const { return from_bfloat16(bits); }
};

template <class T>
T load_element(const std::byte* from, bool big_endian) {
  std::byte bytes[sizeof(T)];
  std::memcpy(bytes, from, sizeof(T));
  if (big_endian) std::reverse(bytes, bytes + sizeof(T));
  return std::bit_cast<T>(bytes);
}

// visit(T{}) with the type of the numbers; sizes are those that the readers of headers let through.
template <class Visit>
void with_number_type(const ElementType& type, Visit visit) {
  const auto [kind, size, big_endian] = type;
  if (kind == ElementKind::real && size == 2) return visit(Float16{});
  if (kind == ElementKind::real && size == 4) return visit(float{});
  if (kind == ElementKind::real && size == 8) return visit(double{});
  if (kind == ElementKind::bfloat && size == 2) return visit(Bfloat16{});
  if (kind == ElementKind::boolean && size == 1) return visit(uint8_t{});
  if (kind == ElementKind::natural && size == 1) return visit(uint8_t{});
  if (kind == ElementKind::natural && size == 2) return visit(uint16_t{});
  if (kind == ElementKind::natural && size == 4) return visit(uint32_t{});
  if (kind == ElementKind::natural && size == 8) return visit(uint64_t{});
  if (kind == ElementKind::integer && size == 1) return visit(int8_t{});
  if (kind == ElementKind::integer && size == 2) return visit(int16_t{});
  if (kind == ElementKind::integer && size == 4) return visit(int32_t{});
  SELFNORM_CHECK(kind == ElementKind::integer && size == 8);
  visit(int64_t{});
}

}  // namespace selfnorm
