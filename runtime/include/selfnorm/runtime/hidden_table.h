// The first hidden layer of a context model, pre-computed for every position and word (Devlin et al. 2014,
// section 2.4): P_i[w] = U_i E[w], so that U v + t = t + sum_i P_i[w_i] takes no product. Rows are int16 with
// one scale for each unit j,
//     P_i[w]_j ~ scale_j q,   scale_j = sum_i max_w |P_i[w]_j| / (32767 - (n - 1)),
// so that sums of n - 1 rows fit int16 and |h_j - h_j from the table| <= (n - 1) scale_j / 2 + rounding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "selfnorm/runtime/kernels.h"
#include "selfnorm/runtime/model_layout.h"

namespace selfnorm::runtime {

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

}  // namespace selfnorm::runtime
