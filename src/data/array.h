// A typed array in a stream: what NPY, safetensors and idx files have in common once their headers are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "selfnorm/data/element.h"
#include "source.h"

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

}  // namespace selfnorm
