// A typed array in a stream: what NPY and idx files have in common once their headers are read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "source.h"

namespace selfnorm {

enum class ElementKind { boolean, integer, natural, real, bytes, unicode };

struct ElementType {
  ElementKind kind = ElementKind::real;
  uint64_t size = 4;  // bytes
  bool big_endian = false;
};

struct Array {
  std::string name;  // for messages: a file, or a file and the member in it
  ElementType type;
  std::vector<uint64_t> shape;
  bool fortran_order = false;
  ByteSource* payload = nullptr;
};

// Each reads the payload to its end. DataError when the sizes disagree (found before any memory is taken,
// where the size of the source is known), or when the elements are of the wrong kind.
std::vector<float> read_floats(const Array& array);  // row-major; infinite beyond the range of float32
std::vector<int64_t> read_integers(const Array& array);
std::vector<std::string> read_labels(
    const Array& array);  // at most one dimension; whole floats as integers, no finite number as ""

}  // namespace selfnorm
