// The inner loops of scoring, one implementation per instruction set, chosen once at open by asking the
// processor.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace selfnorm::runtime {

// What is in an unnamed namespace is compiled for each instruction set (kernel_lanes.h).
namespace {

// A stored weight as float32; int8 is before its scale.
inline float widen(float w) { return w; }
inline float widen(int8_t w) { return static_cast<float>(w); }
inline float widen(uint16_t w) {
  const uint32_t bits = static_cast<uint32_t>(w) << 16;
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

// Asks for the lines of an array before they are read.
template <class T>
inline void prefetch_row(const T* row, size_t n) {
  const char* bytes = reinterpret_cast<const char*>(row);
  for (size_t i = 0; i < n * sizeof(T); i += 64) __builtin_prefetch(bytes + i);
}

}  // namespace

// `rows` rows of `features` weights each, contiguous, against one dense x.
template <class Weight>
struct RowBlock {
  const Weight* weight;
  size_t rows;
  size_t features;
  const float* x;
};

// Clusters of classes by their log-masses m_j (ladder_layout.h), in units of exp(most), most = max_j m_j.
struct ClusterShares {
  float most;
  double total, doubt;  // sum_j share_j, sum_j doubt_j
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

inline constexpr size_t kMostDoubles = 8;  // in a vector of any instruction set

constexpr size_t padded(size_t n) { return (n + kMostDoubles - 1) / kMostDoubles * kMostDoubles; }

// init + sum_i value_i M[row_i], M of rows of `width`; init and value may be null: all 0, all 1. `readable`
// >= count numbers of rows may be read: those after the last are a hint of the rows that are wanted next.
struct RowSum {
  const float* init;
  const float* matrix;
  size_t width;
  const uint32_t* row;
  const float* value;
  size_t count, readable;
};

struct SumLeast {
  double sum, least;
};

// Of CRFs, over their labels. Matrices in double have rows of padded(n) numbers, of which those after the
// n-th are 0; those in float are as files hold them.
struct CrfKernels {
  // out_k = init_k + sum_i value_i M[row_i][k], added in the order of i; `out` is not init.
  void (*add_rows)(const RowSum& sum, float* out);
  // best_k = max_j x_j + V[j][k], from_k the first j that has it, k = 0 .. n-1; V is n x n.
  void (*max_plus)(const double* x, const float* matrix, size_t n, double* best, uint32_t* from);
  // out_k = exp(s_k - shift) for s_k <= shift, and 0 up to padded(n); relative error below 1e-14, and 0 below
  // exp(-708).
  void (*exp_shifted)(const float* s, size_t n, double shift, double* out);
  // out_k = f_k sum_j x_j M[j][k], their sum and the least of the first n; f null: all 1. `out` is not x.
  SumLeast (*scaled_product)(size_t n, const double* x, const double* matrix, const double* factor,
                             double* out);
  // out_j = sum_k M[j][k] x_k
  void (*dots)(size_t n, const double* matrix, const double* x, double* out);
  // out_k = a x_k y_k over padded(n), and their sum.
  double (*products)(size_t n, double a, const double* x, const double* y, double* out);
};

struct Kernels {
  const char* name;
  // out_k = sum_j w_kj x_j, accumulated in float32 lanes. A NaN or infinity in x makes every out_k
  // non-finite, since 0 x inf is NaN and no later addition is finite again.
  void (*dot_f32)(const RowBlock<float>& block, float* out);
  void (*dot_bf16)(const RowBlock<uint16_t>& block, float* out);
  void (*dot_i8)(const RowBlock<int8_t>& block, float* out);
  // m_j becomes share_j = exp(m_j - most), at least 1e-38; doubt_j = (share_j (exp(min(q scatter_j,
  // kMostDoubt)) - 1))^2. n >= 1, q >= 0.
  ClusterShares (*cluster_shares)(size_t n, const float* scatter, float q, float* m, float* doubt);
  // sum_i exp(s_i - max) and max = max_i s_i, for n >= 1 finite s_i; relative error below 5e-7 (differences
  // in double, then Cephes expf, degree 5, in lanes), and at least 1.
  double (*exp_sum)(const double* s, size_t n, double* max);
  double (*exp_sum_f32)(const float* s, size_t n, double* max);
  // The sum of those doubt_j whose worth_j <= most; no worth_j is NaN.
  double (*sum_up_to)(size_t n, const float* doubt, const float* worth, float most);
  // y_j += a x_j
  void (*add_scaled)(float a, const float* x, size_t n, float* y);
  // y_j += a_i x_ij for i = 0 .. 3 in turn, to the bits of four times add_scaled
  void (*add_four)(const float* a, const float* const* x, size_t n, float* y);
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
