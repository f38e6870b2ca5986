// The Cholesky factor of a large matrix by blocks: panels in the caller's thread and in stripes, what is left
// of the matrix by products in parallel. Cut by sizes alone, so bits do not depend on the number of threads.
#pragma once

#include <cstddef>

namespace selfnorm {

// a: n x n, column-major, of which the lower triangle is read and becomes L with L L' = A; the upper one is
// used as room. False: A is not positive definite, and its triangle is spoilt.
bool cholesky(double* a, size_t n);

}  // namespace selfnorm
