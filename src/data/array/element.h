// What the arrays of npy, npz, safetensors and idx files hold, one element at a time or many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace selfnorm {

// bfloat is the upper half of a float32 (math/half.h); NumPy writes it as two bytes without a type (V2).
enum class ElementKind { boolean, integer, natural, real, bfloat, bytes, unicode };

struct ElementType {
  ElementKind kind = ElementKind::real;
  uint64_t size = 4;  // bytes
  bool big_endian = false;

  bool is_float() const { return kind == ElementKind::real || kind == ElementKind::bfloat; }
  bool is_number() const { return kind != ElementKind::bytes && kind != ElementKind::unicode; }
  std::string name() const;  // "float16", "int64", "5 bytes of text"

  bool operator==(const ElementType&) const = default;
};

// The float32 nearest to each number; infinite beyond the range of float32. `from` may have any alignment and
// holds exactly to.size() elements.
void widen(const ElementType& type, std::span<const std::byte> from, std::span<float> to);

// Back to float16, bfloat16, float32 or float64: nearest, ties to even, infinite beyond the range.
void narrow(const ElementType& type, std::span<const float> from, std::span<std::byte> to);

// An element as a label: texts without the zeros that pad them, whole floats as integers, no finite number as
// "".
std::string label_text(const ElementType& type, const std::byte* element);

}  // namespace selfnorm
