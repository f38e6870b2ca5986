#include "math/vector.h"

#include <gtest/gtest.h>

#include <cmath>

#include "math/parallel.h"
#include "random_data.h"

namespace selfnorm {
namespace {

TEST(Vector, OperationsAgreeWithLoopsAcrossPieces) {
  const size_t n = 100003;
  const auto x = random_vector<double>(n, 1);
  const auto y = random_vector<double>(n, 2);
  const std::span<const double> xs(x), ys(y);
  double product = 0, absolute = 0;
  for (size_t i = 0; i < n; ++i) {
    product += x[i] * y[i];
    absolute += std::abs(x[i]);
  }
  EXPECT_NEAR(inner_product(xs, ys), product, 1e-8);
  EXPECT_NEAR(absolute_sum(xs), absolute, 1e-8);
  auto z = y;
  add_multiple(0.5, xs, std::span<double>(z));
  std::vector<double> w(n);
  sum_with_multiple(ys, 0.5, xs, std::span<double>(w));
  multiply(2, std::span<double>(z));
  for (size_t i = 0; i < n; i += 997) {
    EXPECT_DOUBLE_EQ(z[i], 2 * (y[i] + 0.5 * x[i]));
    EXPECT_DOUBLE_EQ(w[i], y[i] + 0.5 * x[i]);
  }
}

TEST(Vector, InnerProductHasTheSameBitsForAnyNumberOfThreads) {
  const auto x = random_vector<float>(1'000'003, 1);
  const std::span<const float> xs(x);
  const double all = inner_product(xs, xs);
  for (const int threads : {1, 2, 5}) {
    const ThreadLimit limit(threads);
    EXPECT_EQ(inner_product(xs, xs), all);
  }
}

}  // namespace
}  // namespace selfnorm
