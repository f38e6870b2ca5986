// Rows of a matrix that are named by their numbers, and rows of scores: the sparse half of the inner loops of
// CRFs, compiled for several instruction sets and chosen at run time (Highway) as those of kernels.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace selfnorm {

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
