// Examples that stream by in blocks: what audits and normalisation read, so that their memory does not grow
// with the number of examples. Array files (npy, safetensors, stored npz members) are mapped and widened to
// float32 a block at a time; other data are held as the Dataset they were read to.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/read.h"

namespace selfnorm {

class ExampleSource {
 public:
  virtual ~ExampleSource() = default;

  virtual uint64_t examples() const = 0;
  virtual uint32_t columns() const = 0;
  virtual bool has_targets() const = 0;  // of every example
  virtual bool is_joint() const { return false; }
  virtual uint64_t number(uint64_t example) const { return example; }  // in the file, from 0

  // Examples begin .. end-1, or those listed in that order. Targets are filled when has_targets() (else an
  // example without one has kNoTarget); labels and names are left empty. Throws DataError naming the file and
  // the row for a value that is not finite or a label that is no class.
  virtual Dataset block(uint64_t begin, uint64_t end) const;
  virtual Dataset gather(std::span<const uint64_t> examples) const = 0;
};

// `data` in memory.
std::unique_ptr<ExampleSource> make_example_source(Dataset data);

struct StatesOptions {
  std::string name;    // of the array in npz and safetensors; empty: X, x, features, data, states,
                       // hidden_states, h or H, or the only array of floats in two or more dimensions
  std::string labels;  // file with the labels (npy, idx, text: one a line); empty: an array y, label, labels,
                       // target or targets of the same npz or safetensors file, if there is one
  const Schema* schema = nullptr;  // of the model, used while opening: labels become its classes; without
                                   // labels of its own, a label is the class number
  uint32_t classes = 0;            // of the head, when there is no schema: labels are 0 .. classes-1
  UnseenLabels* unseen = nullptr;  // given: labels that the schema lacks are kept as kUnseenTarget, and
                                   // counted here while opening
};

// Whether `path` is an array file that open_states can stream: a regular file, not compressed, by its first
// bytes or its extension npy, npz (but not a CSR matrix) or safetensors.
bool is_array_file(const std::string& path);

// npy, npz or safetensors; float16, bfloat16, float32, float64 and integers. Deflated npz members and labels
// that are not in arrays are read whole. The last dimension is the columns and all others together are the
// rows (batch x tokens x d), unless labels or features fit the first dimension alone as rows. Throws Error.
std::unique_ptr<ExampleSource> open_states(const std::string& path, const StatesOptions& options);

// Some of the examples of a source, in a given order.
class ExampleSubset final : public ExampleSource {
 public:
  // Keeps a reference to `whole`.
  ExampleSubset(const ExampleSource& whole, std::vector<uint64_t> examples);

  uint64_t examples() const override { return examples_.size(); }
  uint32_t columns() const override { return whole_.columns(); }
  bool has_targets() const override { return whole_.has_targets(); }
  bool is_joint() const override { return whole_.is_joint(); }
  uint64_t number(uint64_t example) const override { return whole_.number(examples_[example]); }
  Dataset block(uint64_t begin, uint64_t end) const override;
  Dataset gather(std::span<const uint64_t> examples) const override;

 private:
  const ExampleSource& whole_;
  std::vector<uint64_t> examples_;
};

// A random `fraction` of the examples (at least 1, at most half) and the others, each in order of the source:
// (kept, held out). Needs at least two examples. Splits of two names `stream` are independent.
inline constexpr uint64_t kSplitStream = 0x73706c6974;  // "split"
// The second part alone is random_held_out. Of more than kSplitAtOnce examples each run of so many is split.
inline constexpr uint64_t kSplitAtOnce = uint64_t{1} << 24;
std::vector<uint64_t> random_held_out(uint64_t examples, double fraction, uint64_t seed, uint64_t stream = 0);
std::pair<std::vector<uint64_t>, std::vector<uint64_t>> random_split(uint64_t examples, double fraction,
                                                                     uint64_t seed,
                                                                     uint64_t stream = kSplitStream);

// The share of examples that is held out when nobody says: 0.1; none of a handful, which cannot spare any;
// none when all of them are to keep a promise that nothing is selected for (the constraint).
double default_hold_out(uint64_t examples, bool keeps_all = false);

}  // namespace selfnorm
