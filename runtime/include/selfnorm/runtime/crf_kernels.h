// The inner loops of CRFs over their labels, one implementation per instruction set (kernels.h). Matrices
// in double have rows of padded(n) numbers, of which those after the n-th are 0; those in float are as files
// hold them.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace selfnorm::runtime {

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

}  // namespace selfnorm::runtime
