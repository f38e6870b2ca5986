// The state h(x) that the output layer of a model with an encoder multiplies (model_layout.h), without
// allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "selfnorm/runtime/kernels.h"
#include "selfnorm/runtime/model_layout.h"
#include "selfnorm/runtime/scorer.h"

namespace selfnorm::runtime {

// Arrays of states on the stack, in a frame of about the size that is needed: no call after open allocates.
template <size_t N, class Use>
__attribute__((noinline)) auto with_array(const Use& use) {
  alignas(64) float buffer[N];
  return use(static_cast<float*>(buffer));
}

// use(buffer) with n floats; n is at most kWidestLayer * kMostPositions, the largest state of a model.
template <class Use>
auto with_floats(size_t n, const Use& use) {
  if (n <= kWidestLayer / 4) return with_array<kWidestLayer / 4>(use);
  if (n <= kWidestLayer) return with_array<kWidestLayer>(use);
  return with_array<size_t{kWidestLayer} * kMostPositions>(use);
}

// The first hidden layer of a context model, pre-computed for every position and word (Devlin et al. 2014,
// section 2.4): P_i[w] = U_i E[w], so that U v + t = t + sum_i P_i[w_i] takes no product. Rows are int16 with
// one scale for each unit j,
//     P_i[w]_j ~ scale_j q,   scale_j = sum_i max_w |P_i[w]_j| / (32767 - (n - 1)),
// so that sums of n - 1 rows fit int16 and |h_j - h_j from the table| <= (n - 1) scale_j / 2 + rounding.
class HiddenTable {
 public:
  HiddenTable() = default;
  HiddenTable(HiddenTable&& other) noexcept;
  HiddenTable& operator=(HiddenTable&& other) noexcept;
  ~HiddenTable();

  // Of the table of this encoder; 0 for one without a context or a hidden layer, which needs none.
  static uint64_t bytes(const EncoderLayout& encoder);

  // For any number of threads the same table. Throws std::bad_alloc; false when a product is not finite.
  bool build(const EncoderLayout& encoder, const Kernels& kernels, unsigned threads);

  bool exists() const { return rows_ != nullptr; }
  // The rows of one word are neighbours, so that words that stay in the context stay in the cache.
  const int16_t* row(uint32_t word, uint32_t position) const {
    return rows_ + (uint64_t{word} * positions_ + position) * stride_;
  }
  const float* scale() const { return scale_.data(); }
  size_t row_bytes() const { return stride_ * sizeof(int16_t); }

 private:
  int16_t* rows_ = nullptr;  // R x (n - 1) x stride_
  uint64_t bytes_ = 0;
  size_t positions_ = 0, stride_ = 0;
  std::vector<float> scale_;
};

class StateEncoder {
 public:
  explicit StateEncoder(const EncoderLayout& layout, const Kernels& kernels = best_kernels());

  // h of a sparse x, whose indices are below R; false when it is not finite. An x without entries, or with
  // zeros only, has v = 0.
  bool bag(const Query& x, float* h) const;

  // h of n - 1 words below R, the oldest first; false when it is not finite.
  bool context(const uint32_t* words, float* h) const;

  // Makes contexts cheaper from now on (HiddenTable). Throws std::bad_alloc; false when a product is not
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
