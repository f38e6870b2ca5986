// One sentence of a CRF on its way through the recursions: its scores a position at a time, and the memory
// that they keep.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include "selfnorm/runtime/crf_scorer.h"

namespace selfnorm::runtime {

// Whether none of x_1 .. x_n is infinite or NaN: no exponent has all its bits.
inline bool all_finite(const float* x, size_t n) {
  uint32_t bad = 0;
  for (size_t i = 0; i < n; ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, x + i, sizeof bits);
    bad |= static_cast<uint32_t>((bits & 0x7f800000u) == 0x7f800000u);
  }
  return bad == 0;
}

class CrfPass {
 public:
  CrfPass(const CrfLayout& layout, const CrfKernels& kernels_of_cpu, const selfnorm_sentence& x, void* memory)
      : kernels(kernels_of_cpu),
        labels(layout.labels),
        stride(padded(labels)),
        length(x.positions),
        layout_(layout),
        x_(x) {
    const auto address = reinterpret_cast<uintptr_t>(memory);
    auto* next = reinterpret_cast<double*>((address + kAlignment - 1) / kAlignment * kAlignment);
    const auto take = [&next](size_t n) { return std::exchange(next, next + n); };
    alpha = take(length * stride);
    unary_factor = take(length * stride);
    pair_factor = take(labels * stride);
    row[0] = take(stride);
    row[1] = take(stride);
    scale = take(length);
    unary_ = reinterpret_cast<float*>(take((labels + 1) / 2));
    pair_ = reinterpret_cast<float*>(next);
  }

  static size_t bytes(const CrfLayout& layout, size_t positions) {
    __extension__ typedef unsigned __int128 Wide;
    const Wide labels = layout.labels, stride = padded(layout.labels), length = positions;
    Wide doubles = 2 * length * stride + labels * stride + 2 * stride + length + (labels + 1) / 2;
    if (has_own_pairs(layout)) doubles += (labels * labels + 1) / 2;
    const Wide total = doubles * sizeof(double) + kAlignment - 1;
    return total > SIZE_MAX ? SIZE_MAX : static_cast<size_t>(total);
  }

  // u_t, until the next call; null where it is not finite.
  const float* unary(size_t t) {
    kernels.add_rows(rows(x_.unigram, t, layout_.bias, layout_.weight), unary_);
    return all_finite(unary_, labels) ? unary_ : nullptr;
  }
  // v_t, t >= 1, until the next call; null where it is not finite.
  const float* pair(size_t t) {
    if (has_shared_pair(t) && !layout_.transition.empty()) {
      is_checked_ = is_checked_ || all_finite(layout_.transition.data(), labels * labels);
      return is_checked_ ? layout_.transition.data() : nullptr;
    }
    RowSum sum = rows(x_.bigram, t, layout_.transition, layout_.pair);
    sum.width = labels * labels;
    kernels.add_rows(sum, pair_);
    return all_finite(pair_, labels * labels) ? pair_ : nullptr;
  }
  // v_t(j,k), after pair(t) or after that of any position where has_shared_pair(t).
  float pair_score(size_t t, size_t j, size_t k) const {
    if (!has_shared_pair(t)) return pair_[j * labels + k];
    return layout_.transition.empty() ? 0 : layout_.transition[j * labels + k];
  }
  // No attributes meet the pair of labels at t.
  bool has_shared_pair(size_t t) const {
    return x_.bigram.begin == nullptr || x_.bigram.begin[t] == x_.bigram.begin[t + 1];
  }

  const CrfKernels& kernels;
  const size_t labels, stride, length;
  double *alpha = nullptr, *unary_factor = nullptr;  // T rows
  double* pair_factor = nullptr;                     // L rows
  double* row[2] = {};
  double* scale = nullptr;  // T

 private:
  static constexpr size_t kAlignment = 64;

  static bool has_own_pairs(const CrfLayout& layout) {
    return layout.bigrams.size > 0 || layout.transition.empty();
  }

  RowSum rows(const selfnorm_attribute_rows& list, size_t t, std::span<const float> init,
              std::span<const float> matrix) const {
    RowSum out{init.data(), matrix.data(), labels, nullptr, nullptr, 0, 0};
    if (list.begin == nullptr) return out;
    const size_t first = list.begin[t];
    out.count = list.begin[t + 1] - first;
    if (out.count == 0) return out;
    out.readable = list.begin[length] - first;
    out.row = list.number + first;
    if (list.value != nullptr) out.value = list.value + first;
    return out;
  }

  const CrfLayout& layout_;
  const selfnorm_sentence& x_;
  float *unary_ = nullptr, *pair_ = nullptr;
  bool is_checked_ = false;
};

}  // namespace selfnorm::runtime
