// Examples that stream by in blocks: what audits and normalisation read, so that their memory does not grow
// with the number of examples. Array files (npy, safetensors, stored npz members) are mapped and widened to
// float32 a block at a time; other data are held as the Dataset they were read to.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "selfnorm/data/dataset.h"
#include "selfnorm/data/read.h"

namespace selfnorm {

class ExampleSource {
 public:
  virtual ~ExampleSource() = default;

  virtual uint64_t examples() const = 0;
  virtual uint32_t columns() const = 0;
  virtual bool has_targets() const = 0;
  virtual bool is_joint() const { return false; }

  // Examples begin .. end-1, or those listed in that order. Targets are filled when has_targets(); labels and
  // names are left empty. Throws DataError naming the file and the row for a value that is not finite or a
  // label that is no class.
  virtual Dataset block(uint64_t begin, uint64_t end) const = 0;
  virtual Dataset gather(std::span<const uint64_t> examples) const = 0;
};

// `data` in memory.
std::unique_ptr<ExampleSource> make_example_source(Dataset data);

struct StatesOptions {
  std::string name;        // of the array in npz and safetensors; empty: X, x, features, data, states,
                           // hidden_states, h or H, or the only array of two dimensions
  std::string labels;      // file with the labels (npy, text: one a line); empty: an array y, label, labels,
                           // target or targets of the same npz or safetensors file, if there is one
  const Schema* schema = nullptr;  // of the model: labels become its classes; without labels of its own, a
                                   // label is the class index
  uint32_t classes = 0;            // of the head, when there is no schema: labels are 0 .. classes-1
};

// Whether `path` is an array file that open_states can stream (by its first bytes and its extension).
bool is_array_file(const std::string& path);

// npy, npz or safetensors; float16, bfloat16, float32 and float64. Deflated npz members are read whole.
std::unique_ptr<ExampleSource> open_states(const std::string& path, const StatesOptions& options);

}  // namespace selfnorm
