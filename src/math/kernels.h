// The inner loops, compiled for several instruction sets and chosen at run time (Highway). Single-threaded;
// the bits of a result depend on the machine's instruction set but never on alignment or threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {

// x_i <- exp(x_i - max), max = max_i x_i; returns log sum_i exp(x_i) as (max, sum). An empty or all -inf
// range gives
// {-inf, 0} and zeros; a NaN anywhere gives a NaN sum.
LogSumExp exp_in_place(float* x, size_t n);
LogSumExp exp_in_place(double* x, size_t n);

// What a row of scores says of its softmax p_i = exp(x_i) / Z, in one reading.
struct SoftmaxMoments {
  LogSumExp total;     // log Z
  double shifted = 0;  // sum_i exp(x_i - max) (x_i - max)
  uint64_t best = 0;   // the first i with x_i = max

  double log_z() const { return total.value(); }
  double expected() const { return total.max + shifted / total.sum; }           // sum_i p_i x_i
  double entropy() const { return std::log(total.sum) - shifted / total.sum; }  // - sum_i p_i log p_i

  // The moments of this row followed by another whose first score has the index `first`.
  void append(const SoftmaxMoments& other, uint64_t first);
};
// Terms with x_i < max - 1e4 count as 0, x_i = -inf included; a NaN anywhere gives NaN.
SoftmaxMoments softmax_moments(const float* x, size_t n);

// sum_i x_i y_i, accumulated in double.
double dot(const float* x, const float* y, size_t n);
double dot(const double* x, const double* y, size_t n);

// (v . a, v . b): the same bits as two calls of dot, one reading of v.
struct ProductPair {
  double a = 0, b = 0;
};
ProductPair dot_pair(const float* v, const float* a, const float* b, size_t n);
ProductPair dot_pair(const double* v, const double* a, const double* b, size_t n);

// y_i <- y_i + a x_i
void add_scaled(float a, const float* x, float* y, size_t n);
void add_scaled(double a, const double* x, double* y, size_t n);

// x_i <- a x_i
void scale(float a, float* x, size_t n);
void scale(double a, double* x, size_t n);

// A sparse row: nnz pairs (column, value).
struct SparseView {
  const uint32_t* column;
  const float* value;
  size_t nnz;
};

// out_k <- out_k + sum_j value_j W[row(column_j)][k] for k = 0 .. width-1, where W is row-major with `stride`
// and row(j) = rows[j], or j when rows is null.
void add_sparse_product(const SparseView& x, const float* weights, size_t stride, const uint32_t* rows,
                        float* out, size_t width);
void add_sparse_product(const SparseView& x, const double* weights, size_t stride, const uint32_t* rows,
                        double* out, size_t width);

// G[column_j][k] <- G[column_j][k] + value_j d_k
void add_sparse_outer(const SparseView& x, const float* d, float* gradient, size_t stride, size_t width);
void add_sparse_outer(const SparseView& x, const double* d, double* gradient, size_t stride, size_t width);

}  // namespace selfnorm
