#include "audit/cholesky.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "math/parallel.h"
#include "math/random.h"

namespace selfnorm {
namespace {

// X'X of random X with a few more rows than columns; symmetric, so either order of its numbers.
std::vector<double> positive_definite(size_t n) {
  const size_t rows = n + 20;
  RandomStream random(7);
  std::vector<double> x(rows * n), out(n * n);
  for (double& v : x) v = random.normal();
  for (size_t r = 0; r < rows; ++r)
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < n; ++j) out[i * n + j] += x[r * n + i] * x[r * n + j];
  return out;
}

TEST(Cholesky, TheFactorMakesTheMatrixAgain) {
  for (const size_t n : {1u, 2u, 127u, 128u, 129u, 300u}) {
    const std::vector<double> a = positive_definite(n);
    std::vector<double> l = a;
    ASSERT_TRUE(cholesky(l.data(), n));
    for (size_t i = 0; i < n; ++i) {
      EXPECT_GT(l[i * n + i], 0);
      for (size_t j = 0; j <= i; ++j) {
        double sum = 0;
        for (size_t k = 0; k <= j; ++k) sum += l[k * n + i] * l[k * n + j];
        ASSERT_NEAR(sum, a[j * n + i], 1e-10 * std::sqrt(a[i * n + i] * a[j * n + j]))
            << n << ": " << i << ", " << j;
      }
    }
  }
}

TEST(Cholesky, RefusesAMatrixThatIsNotPositiveDefinite) {
  for (const size_t at : {0u, 130u, 299u}) {
    std::vector<double> a = positive_definite(300);
    a[at * 300 + at] = -1;
    EXPECT_FALSE(cholesky(a.data(), 300)) << at;
  }
}

TEST(Cholesky, HasTheSameBitsForAnyNumberOfThreads) {
  std::vector<double> one = positive_definite(400), many = one;
  {
    const ThreadLimit limit(1);
    ASSERT_TRUE(cholesky(one.data(), 400));
  }
  ASSERT_TRUE(cholesky(many.data(), 400));
  for (size_t j = 0; j < 400; ++j)
    for (size_t i = j; i < 400; ++i) ASSERT_EQ(one[j * 400 + i], many[j * 400 + i]);
}

}  // namespace
}  // namespace selfnorm
