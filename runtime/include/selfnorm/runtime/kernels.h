// The inner loops of scoring, one implementation per instruction set, chosen once at open by asking the
// processor.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace selfnorm::runtime {

// `rows` rows of `features` weights each, contiguous, against one dense x.
template <class Weight>
struct RowBlock {
  const Weight* weight;
  size_t rows;
  size_t features;
  const float* x;
};

struct Kernels {
  const char* name;
  // out_k = sum_j w_kj x_j, accumulated in float32 lanes. A NaN or infinity in x makes every out_k
  // non-finite, since 0 x inf is NaN and no later addition is finite again.
  void (*dot_f32)(const RowBlock<float>& block, float* out);
  void (*dot_bf16)(const RowBlock<uint16_t>& block, float* out);
  void (*dot_i8)(const RowBlock<int8_t>& block, float* out);
  // sum_i exp(s_i - max) for finite s_i <= max; relative error below 1e-6 (Cephes expf, degree 5, in lanes).
  float (*exp_sum)(const float* s, size_t n, float max);
};

inline constexpr size_t kMostKernels = 3;

// Fills `out` with the implementations this processor can run, the plainest first; returns how many.
size_t supported_kernels(const Kernels* (&out)[kMostKernels]);
const Kernels& best_kernels();

extern const Kernels kPortableKernels;
#if defined(__x86_64__)
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;
#endif

}  // namespace selfnorm::runtime
