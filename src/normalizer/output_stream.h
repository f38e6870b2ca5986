// What a model says of every example of a source, exactly, block by block in the order of the source:
// multiclass by class_moments (on a GPU where one was chosen: device_head.h), joint by enumeration of each
// group. Memory is one block, whatever the number of examples.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "data/example_source.h"
#include "math/kernels.h"
#include "model/class_scores.h"

namespace selfnorm {

class DeviceHead;

struct OutputRow {
  SoftmaxMoments moments;
  uint64_t outputs = 0;     // K, or the size of the group
  double target_score = 0;  // NaN without a target, and of an unseen one
  bool is_correct = false;  // the target is the best output
  bool is_unseen = false;   // the target is a label that the model has not seen
};

struct OutputBlock {
  uint64_t first = 0;  // example of the first row
  const Dataset& data;
  std::span<const OutputRow> rows;
};

class OutputStream {
 public:
  // Keeps references. Throws Error when the source does not fit the model.
  OutputStream(const ModelFile& model, const ExampleSource& source);
  ~OutputStream();

  // visit(block) in order; progress(examples done) after each. Throws Error naming the example whose log Z is
  // not finite.
  void run(const std::function<void(const OutputBlock&)>& visit,
           const std::function<void(uint64_t)>& progress = {}) const;

 private:
  std::vector<OutputRow> rows_of(const Dataset& block) const;

  const ModelFile& model_;
  const ExampleSource& source_;
  std::unique_ptr<ClassScores> scores_;  // multiclass
  std::unique_ptr<DeviceHead> device_;   // the same on a GPU, where one was chosen
};

// log Z of every example, not less c.
std::vector<double> log_normalizers(const ModelFile& model, const ExampleSource& source,
                                    const std::function<void(uint64_t)>& progress = {});

// Examples that are worth holding at once: 16 MB of features, or what parallel work needs.
uint64_t block_size(const ExampleSource& source);

}  // namespace selfnorm
