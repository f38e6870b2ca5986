// Dense products on row-major matrices: OpenBLAS, single-threaded: the caller's blocks are the parallelism.
#pragma once

#include <cstddef>
#include <string>

namespace selfnorm {

// C (m x n) <- A (m x k) B (k x n) + beta C. Leading dimensions are row strides.
void gemm(size_t m, size_t n, size_t k, const float* a, size_t lda, const float* b, size_t ldb, float beta,
          float* c, size_t ldc);
void gemm(size_t m, size_t n, size_t k, const double* a, size_t lda, const double* b, size_t ldb, double beta,
          double* c, size_t ldc);

// C (m x n) <- A B^T + C, with A (m x k), B (n x k).
void gemm_by_rows(size_t m, size_t n, size_t k, const float* a, size_t lda, const float* b, size_t ldb,
                  float* c, size_t ldc);

// C (m x n) <- A^T B + C, with A (k x m), B (k x n).
void gemm_transposed(size_t m, size_t n, size_t k, const float* a, size_t lda, const float* b, size_t ldb,
                     float* c, size_t ldc);
void gemm_transposed(size_t m, size_t n, size_t k, const double* a, size_t lda, const double* b, size_t ldb,
                     double* c, size_t ldc);

// What the bits of sums and products depend on besides the data: the kernels that were chosen for this
// processor, Highway's and OpenBLAS's.
std::string processor_kernels();

}  // namespace selfnorm
