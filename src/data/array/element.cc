#include "data/array/element.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <type_traits>

#include "data/array/array.h"

namespace selfnorm {
namespace {

float to_float(double value) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  if (std::abs(value) > kLargest) value = std::copysign(std::numeric_limits<double>::infinity(), value);
  return static_cast<float>(value);
}

// UTF-32 to UTF-8; anything that is no code point becomes U+FFFD.
void append_utf8(std::string& out, uint32_t c) {
  if (c >= 0x110000 || (c >= 0xD800 && c < 0xE000)) c = 0xFFFD;
  auto tail = [&](unsigned shift) { out += static_cast<char>(0x80u | ((c >> shift) & 0x3Fu)); };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0u | (c >> 6));
    tail(0);
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0u | (c >> 12));
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xF0u | (c >> 18));
    tail(12), tail(6), tail(0);
  }
}

std::string text_element(const ElementType& type, const std::byte* from) {
  std::string out;
  if (type.kind == ElementKind::bytes) {
    out.assign(reinterpret_cast<const char*>(from), type.size);
    out.erase(out.find_last_not_of('\0') + 1);
    return out;
  }
  uint64_t length = type.size / 4;
  auto code = [&](uint64_t i) { return load_element<uint32_t>(from + 4 * i, type.big_endian); };
  while (length > 0 && code(length - 1) == 0) --length;
  for (uint64_t i = 0; i < length; ++i) append_utf8(out, code(i));
  return out;
}

template <class T>
std::string number_label(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(value)) return {};
    if (value == std::floor(value) && std::abs(static_cast<double>(value)) < 1e15)
      return fmt::format("{:.0f}", value + T{0});
    return fmt::format("{}", value);
  } else if constexpr (std::is_integral_v<T>) {
    return fmt::format("{}", static_cast<std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>(value));
  } else {
    return number_label(static_cast<float>(value));
  }
}

template <class T>
void store_each(std::span<const float> from, bool big_endian, std::byte* to) {
  for (const float value : from) {
    const T stored = static_cast<T>(value);
    std::memcpy(to, &stored, sizeof(T));
    if (big_endian) std::reverse(to, to + sizeof(T));
    to += sizeof(T);
  }
}

}  // namespace

std::string ElementType::name() const {
  if (!is_number()) return fmt::format("{} bytes of text", size);
  if (kind == ElementKind::boolean) return "bool";
  const char* name = kind == ElementKind::integer   ? "int"
                     : kind == ElementKind::natural ? "uint"
                     : kind == ElementKind::real    ? "float"
                                                    : "bfloat";
  return fmt::format("{}{}", name, 8 * size);
}

void widen(const ElementType& type, std::span<const std::byte> from, std::span<float> to) {
  SELFNORM_CHECK(from.size() == to.size() * type.size);
  const bool is_native = !type.big_endian;
  if (is_native && type.kind == ElementKind::bfloat) return widen_bfloat16(from, to);
  if (is_native && type.kind == ElementKind::real && type.size == 2) return widen_float16(from, to);
  if (is_native && type.kind == ElementKind::real && type.size == 4) {
    if (!to.empty()) std::memcpy(to.data(), from.data(), from.size());
    return;
  }
  with_number_type(type, [&](auto zero) {
    using T = decltype(zero);
    for (size_t i = 0; i < to.size(); ++i) {
      const T value = load_element<T>(from.data() + i * sizeof(T), type.big_endian);
      if constexpr (std::is_same_v<T, double>) {
        to[i] = to_float(value);
      } else {
        to[i] = static_cast<float>(value);
      }
    }
  });
}

void narrow(const ElementType& type, std::span<const float> from, std::span<std::byte> to) {
  SELFNORM_CHECK(type.is_float() && to.size() == from.size() * type.size);
  if (type.size == 4) return store_each<float>(from, type.big_endian, to.data());
  if (type.size == 8) return store_each<double>(from, type.big_endian, to.data());
  if (type.kind == ElementKind::bfloat) {
    narrow_to_bfloat16(from, to);
  } else {
    narrow_to_float16(from, to);
  }
  for (size_t i = 0; type.big_endian && i < to.size(); i += 2) std::swap(to[i], to[i + 1]);
}

std::string label_text(const ElementType& type, const std::byte* element) {
  if (!type.is_number()) return text_element(type, element);
  std::string out;
  with_number_type(
      type, [&](auto zero) { out = number_label(load_element<decltype(zero)>(element, type.big_endian)); });
  return out;
}

}  // namespace selfnorm
