// The inner loops of scoring, one implementation per instruction set, chosen once at open by asking the
// processor.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "selfnorm/runtime/crf_kernels.h"

namespace selfnorm::runtime {

// `rows` rows of `features` weights each, contiguous, against one dense x.
template <class Weight>
struct RowBlock {
  const Weight* weight;
  size_t rows;
  size_t features;
  const float* x;
};

// A hidden layer whose products with its inputs are known: unit j is
//     h_j = max(0, bias_j + scale_j sum_i q_ij),   i over the inputs, |sum_i q_ij| <= 32767.
struct HiddenSum {
  const int16_t* const* q;  // `inputs` rows of `units`
  size_t inputs;            // at least 1
  const float* scale;
  const float* bias;
  size_t units;
};

struct Kernels {
  const char* name;
  // out_k = sum_j w_kj x_j, accumulated in float32 lanes. A NaN or infinity in x makes every out_k
  // non-finite, since 0 x inf is NaN and no later addition is finite again.
  void (*dot_f32)(const RowBlock<float>& block, float* out);
  void (*dot_bf16)(const RowBlock<uint16_t>& block, float* out);
  void (*dot_i8)(const RowBlock<int8_t>& block, float* out);
  // sum_i exp(s_i - max) and max = max_i s_i, for n >= 1 finite s_i; relative error below 5e-7 (differences
  // in double, then Cephes expf, degree 5, in lanes), and at least 1.
  double (*exp_sum)(const double* s, size_t n, double* max);
  // y_j += a x_j
  void (*add_scaled)(float a, const float* x, size_t n, float* y);
  // h, and w . h without writing h down: the same bits as dot_* of the h that `hidden` gives.
  void (*hidden)(const HiddenSum& sum, float* h);
  float (*hidden_dot_f32)(const HiddenSum& sum, const float* w);
  float (*hidden_dot_bf16)(const HiddenSum& sum, const uint16_t* w);
  float (*hidden_dot_i8)(const HiddenSum& sum, const int8_t* w);
  CrfKernels crf;
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
