// A typed array in a stream: what NPY, safetensors and idx files have in common once their headers are read.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "data/input/source.h"
#include "math/half.h"
#include "selfnorm/error.h"

namespace selfnorm {

// What the arrays of npy, npz, safetensors and idx files hold, one element at a time or many.
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

// The float32 nearest to each number; infinite beyond the range of float32. `from` holds to.size() elements.
void widen(const ElementType& type, std::span<const std::byte> from, std::span<float> to);

// Back to float16, bfloat16, float32 or float64: nearest, ties to even, infinite beyond the range.
void narrow(const ElementType& type, std::span<const float> from, std::span<std::byte> to);

// An element as a label: texts without padding, whole floats as integers, what is not finite as "".
std::string label_text(const ElementType& type, const std::byte* element);

struct Array {
  std::string name;  // for messages: a file, or a file and the member in it
  ElementType type;
  std::string descr;  // NPY: the type as written
  std::vector<uint64_t> shape;
  bool fortran_order = false;
  ByteSource* payload = nullptr;
};

// The product of the shape; DataError when it exceeds 64 bits.
uint64_t element_count(const Array& array);

// Each reads the payload to its end. DataError when the sizes disagree (found before any memory is taken,
// where the size of the source is known), or when the elements are of the wrong kind.
std::vector<float> read_floats(const Array& array);  // row-major; infinite beyond the range of float32
std::vector<int64_t> read_integers(const Array& array);
std::vector<std::string> read_labels(const Array& array);  // at most one dimension; label_text of each
std::vector<std::byte> read_elements(const Array& array);  // as stored
void check_elements(const Array& array);                   // reads and forgets them

// What they check first: that as many bytes follow as the shape says, where the source knows.
void check_size(const Array& array);

// Elements as numbers of the processor.
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

// The NPY header: "\x93NUMPY", version 1.0 to 3.0, a Python dictionary {'descr': '<f4', 'fortran_order':
// False, 'shape': (n, d), } (numpy.lib.format).
Array open_npy(const std::string& name, ByteSource& source);

// Of version 1.0 and C order, padded so that the elements begin at a multiple of 64 bytes.
std::string npy_header(const std::string& descr, std::span<const uint64_t> shape);

}  // namespace selfnorm
