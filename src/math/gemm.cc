#include "math/gemm.h"

#include <cblas.h>
#include <fmt/format.h>
#include <hwy/targets.h>

#include <cstdlib>
#include <string_view>

// How OpenBLAS chooses its kernels when it is loaded (driver/others/dynamic.c); absent where it was built for
// one processor.
extern "C" {
__attribute__((weak)) void gotoblas_dynamic_quit();
__attribute__((weak)) void gotoblas_dynamic_init();
}

namespace selfnorm {
namespace {

blasint narrow(size_t value) { return static_cast<blasint>(value); }

#if defined(__x86_64__)
// Kernels are chosen by the processor's model number, and a model newer than the library gets those of 2004
// (SSE3, "Prescott"): a quarter of the speed. Then they are chosen again, by what the processor can do.
void choose_kernels() {
  constexpr const char* kChoice = "OPENBLAS_CORETYPE";  // OpenBLAS's own; what a user says stands
  if (gotoblas_dynamic_init == nullptr || gotoblas_dynamic_quit == nullptr ||
      std::getenv(kChoice) != nullptr || openblas_get_corename() != std::string_view("Prescott") ||
      !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    return;
  }
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512cd");
  setenv(kChoice, avx512 ? "SkylakeX" : "Haswell", 1);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  unsetenv(kChoice);
}

// When this library is loaded, before there is a thread of its own that could be within a product.
[[maybe_unused]] const bool kKernelsChosen = (choose_kernels(), true);
#endif

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

std::string processor_kernels() {
  return fmt::format("Highway {:x}, OpenBLAS {} {}", hwy::SupportedTargets(), openblas_get_config(),
                     openblas_get_corename());
}

}  // namespace selfnorm
