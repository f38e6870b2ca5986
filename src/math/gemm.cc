#include "math/gemm.h"

#include <cblas.h>

namespace selfnorm {
namespace {

blasint narrow(size_t value) { return static_cast<blasint>(value); }

void use_one_thread() {
  static const bool once = [] {
    openblas_set_num_threads(1);
    return true;
  }();
  (void)once;
}

}  // namespace

void gemm(size_t m, size_t n, size_t k, const float* a, size_t lda, const float* b, size_t ldb, float beta,
          float* c, size_t ldc) {
  use_one_thread();
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, narrow(m), narrow(n), narrow(k), 1, a, narrow(lda),
              b, narrow(ldb), beta, c, narrow(ldc));
}

void gemm(size_t m, size_t n, size_t k, const double* a, size_t lda, const double* b, size_t ldb, double beta,
          double* c, size_t ldc) {
  use_one_thread();
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, narrow(m), narrow(n), narrow(k), 1, a, narrow(lda),
              b, narrow(ldb), beta, c, narrow(ldc));
}

void gemm_by_rows(size_t m, size_t n, size_t k, const float* a, size_t lda, const float* b, size_t ldb,
                  float* c, size_t ldc) {
  use_one_thread();
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, narrow(m), narrow(n), narrow(k), 1, a, narrow(lda), b,
              narrow(ldb), 1, c, narrow(ldc));
}

void gemm_transposed(size_t m, size_t n, size_t k, const float* a, size_t lda, const float* b, size_t ldb,
                     float* c, size_t ldc) {
  use_one_thread();
  cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, narrow(m), narrow(n), narrow(k), 1, a, narrow(lda), b,
              narrow(ldb), 1, c, narrow(ldc));
}

void gemm_transposed(size_t m, size_t n, size_t k, const double* a, size_t lda, const double* b, size_t ldb,
                     double* c, size_t ldc) {
  use_one_thread();
  cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, narrow(m), narrow(n), narrow(k), 1, a, narrow(lda), b,
              narrow(ldb), 1, c, narrow(ldc));
}

}  // namespace selfnorm
