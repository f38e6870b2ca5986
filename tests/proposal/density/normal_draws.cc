#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "proposal/density/gaussian_terms.h"

namespace selfnorm {
namespace {

TEST(NormalDraws, FollowTheDistributionFunction) {
  constexpr size_t n = 100000;
  std::vector<double> x(n);
  RandomStream random(4);
  fill_normals(random, x);
  double moments[4] = {};
  for (const double v : x)
    for (int p = 0; p < 4; ++p) moments[p] += std::pow(v, p + 1) / n;
  EXPECT_NEAR(moments[0], 0, 4 / std::sqrt(n));
  EXPECT_NEAR(moments[1], 1, 4 * std::sqrt(2.0 / n));
  EXPECT_NEAR(moments[2], 0, 4 * std::sqrt(15.0 / n));
  EXPECT_NEAR(moments[3], 3, 4 * std::sqrt(96.0 / n));
  std::sort(x.begin(), x.end());
  double worst = 0;
  for (size_t i = 0; i < n; ++i)
    worst = std::max(worst,
                     std::abs(0.5 * std::erfc(-x[i] / std::sqrt(2.0)) - (static_cast<double>(i) + 0.5) / n));
  EXPECT_LT(worst * std::sqrt(n), 1.95);  // one case of 1,000
}

// Both of a pair are used, and are not correlated, nor are neighbours.
TEST(NormalDraws, AreIndependent) {
  constexpr size_t n = 128 * 800;
  std::vector<double> x(n);
  RandomStream random(6);
  fill_normals(random, x);
  for (const size_t lag : {size_t{1}, size_t{64}}) {
    double product = 0, squares = 0;
    for (size_t i = 0; i + lag < n; ++i) {
      product += x[i] * x[i + lag];
      squares += (x[i] * x[i] - 1) * (x[i + lag] * x[i + lag] - 1);
    }
    EXPECT_NEAR(product / n, 0, 4 / std::sqrt(n)) << lag;
    EXPECT_NEAR(squares / n, 0, 4 * 2 / std::sqrt(n)) << lag;
  }
}

TEST(NormalDraws, AnyLengthIsFilled) {
  for (const size_t n : {0u, 1u, 2u, 7u, 127u, 128u, 129u, 300u}) {
    std::vector<double> x(n + 1, 99);
    RandomStream random(1);
    fill_normals(random, std::span(x).first(n));
    for (size_t i = 0; i < n; ++i) EXPECT_TRUE(std::isfinite(x[i]) && x[i] != 99);
    EXPECT_EQ(x[n], 99);
  }
}

}  // namespace
}  // namespace selfnorm
