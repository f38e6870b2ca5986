// A typed array in a stream: what NPY, safetensors and idx files have in common once their headers are read.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "data/array/element.h"
#include "data/input/source.h"
#include "math/half.h"
#include "selfnorm/error.h"

namespace selfnorm {

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
std::vector<std::string> read_labels(
    const Array& array);  // at most one dimension; label_text of each element
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

}  // namespace selfnorm
