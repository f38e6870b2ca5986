// The inner loops of CRFs over labels, compiled for several instruction sets and chosen at run time
// (Highway) as those of kernels.h. Matrices of labels have rows padded with zeros to whole vectors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "selfnorm/runtime/kernels.h"

namespace selfnorm {

// The smallest multiple of a vector's lanes that holds n.
template <class Real>
size_t padded_width(size_t n);

// n labels in rows of `stride` = padded_width(n).
struct LabelSpace {
  size_t n, stride;
};
using runtime::SumLeast;
// out_k <- f_k sum_j x_j M[j][k], and the sum and the least of out_1 .. out_n. f null: all 1. `out` is not x.
template <class Real>
SumLeast scaled_product(LabelSpace space, const Real* x, const Real* matrix, const Real* factor, Real* out);

// The rows of M that are summed, and one that stands for the others.
template <class Real>
struct ListedRows {
  const uint32_t* row;
  size_t count;
  Real others;       // its weight
  const Real* mean;  // of `stride`
};
// out_k <- f_k (sum_{j listed} x_j M[j][k] + others mean_k), and the sum of out_1 .. out_n. `out` is not x.
template <class Real>
double listed_product(LabelSpace space, const Real* x, const Real* matrix, const ListedRows<Real>& rows,
                      const Real* factor, Real* out);

// M[j][k] <- M[j][k] + sum_i X[i][j] Y[i][k], i = 0 .. count-1; X and Y have rows of `stride`.
template <class Real>
void add_outer(LabelSpace space, size_t count, const Real* x, const Real* y, Real* matrix);

// out_k <- a x_k y_k over the whole stride; returns sum_k out_k.
template <class Real>
double multiply_rows(LabelSpace space, double a, const Real* x, const Real* y, Real* out);

// best_k <- max_j x_j + V[j][k], from_k <- the first j that has it; V is n x n, not padded.
template <class Real>
void max_plus(const double* x, const Real* matrix, size_t n, double* best, uint64_t* from);

// Whether none of x_1 .. x_n is infinite or NaN.
template <class Real>
bool all_finite(const Real* x, size_t n);

// Rows of a matrix by their numbers, with values, or all 1 when `value` is null. `readable` >= count numbers
// may be read: those after the last are a hint of the rows that are wanted next.
struct RowList {
  const uint32_t* row;
  const float* value;
  size_t count, readable;
};
// out_k <- out_k + sum_i value_i M[row_i][k], k = 0 .. width-1; M has rows of `width`, not padded.
template <class Real>
void add_rows(const RowList& list, const Real* matrix, size_t width, Real* out);

}  // namespace selfnorm
