// The state h(x) that the output layer of a model with an encoder multiplies (model_layout.h), without
// allocation.
#pragma once

#include <cstdint>

#include "selfnorm/runtime/hidden_table.h"
#include "selfnorm/runtime/kernels.h"
#include "selfnorm/runtime/model_layout.h"
#include "selfnorm/runtime/scorer.h"

namespace selfnorm::runtime {

class StateEncoder {
 public:
  explicit StateEncoder(const EncoderLayout& layout, const Kernels& kernels = best_kernels());

  // h of a sparse x, whose indices are below R; false when it is not finite. An x without entries, or with
  // zeros only, has v = 0.
  bool bag(const Query& x, float* h) const;

  // h of n - 1 words below R, the oldest first; false when it is not finite.
  bool context(const uint32_t* words, float* h) const;

  // Makes contexts cheaper from now on (hidden_table.h). Throws std::bad_alloc; false when a product is not
  // finite. Not while another thread uses this.
  bool precompute(unsigned threads);
  const HiddenTable& table() const { return table_; }

  // The hidden layer of the words as rows of the table, which exists; `rows` has n - 1 places.
  HiddenSum hidden_sum(const uint32_t* words, const int16_t** rows) const;

 private:
  bool hidden(const float* v, float* h) const;

  EncoderLayout layout_;
  const Kernels* kernels_;
  HiddenTable table_;
};

}  // namespace selfnorm::runtime
