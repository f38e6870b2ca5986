#include "math/gemm.h"

#include <cblas.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "random_data.h"

namespace selfnorm {
namespace {

TEST(Gemm, BothProductsAgreeWithTripleLoops) {
  const size_t m = 7, n = 5, k = 9;
  const auto a = random_vector<double>(m * k, 1);
  const auto b = random_vector<double>(k * n, 2);
  std::vector<double> c(m * n, 1), t(m * n, 1);
  gemm(m, n, k, a.data(), k, b.data(), n, 1.0, c.data(), n);
  std::vector<double> at(k * m);
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < k; ++j) at[j * m + i] = a[i * k + j];
  }
  gemm_transposed(m, n, k, at.data(), m, b.data(), n, t.data(), n);
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < n; ++j) {
      double expected = 1;
      for (size_t p = 0; p < k; ++p) expected += a[i * k + p] * b[p * n + j];
      EXPECT_NEAR(c[i * n + j], expected, 1e-12);
      EXPECT_NEAR(t[i * n + j], expected, 1e-12);
    }
  }
}

TEST(Gemm, ByRowsAgreesWithTripleLoops) {
  const size_t m = 6, n = 11, k = 4;
  const auto a = random_vector<float>(m * k, 3), b = random_vector<float>(n * k, 4);
  std::vector<float> c(m * n, 2);
  gemm_by_rows(m, n, k, a.data(), k, b.data(), k, c.data(), n);
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < n; ++j) {
      float expected = 2;
      for (size_t p = 0; p < k; ++p) expected += a[i * k + p] * b[j * k + p];
      EXPECT_NEAR(c[i * n + j], expected, 1e-5);
    }
  }
}

#if defined(__x86_64__)
TEST(Gemm, KernelsAreThoseOfTheProcessorAlsoWhereOpenBlasDoesNotKnowIt) {
  if (std::getenv("OPENBLAS_CORETYPE") != nullptr)
    GTEST_SKIP() << "OPENBLAS_CORETYPE is set: its kernels are used";
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "this processor has no AVX2";
  const float one = 1;
  float c = 0;
  gemm(1, 1, 1, &one, 1, &one, 1, 0.0F, &c, 1);
  EXPECT_EQ(c, 1.0F);
  EXPECT_STRNE(openblas_get_corename(), "Prescott");
}
#endif

}  // namespace
}  // namespace selfnorm
