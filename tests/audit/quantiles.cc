#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "audit/stream.h"
#include "random_data.h"

namespace selfnorm {
namespace {

TEST(Quantiles, AreOrderStatisticsWhileTheyFit) {
  Quantiles q;
  std::vector<double> values = random_vector<double>(1001, 1);
  for (const double v : values) q.add(v);
  std::sort(values.begin(), values.end());
  EXPECT_TRUE(q.is_exact());
  EXPECT_EQ(q.order_statistic(0), values.front());
  EXPECT_EQ(q.order_statistic(700), values[700]);
  EXPECT_EQ(q.quantile(0.5), values[500]);
  EXPECT_NEAR(q.quantile(0.0005), (values[0] + values[1]) / 2, 1e-12);
}

// Beyond 2^20 values: within a relative 2^-11, and never closer to zero.
TEST(Quantiles, StayWithinTheWidthOfABucketAndAwayFromZero) {
  Quantiles q;
  const uint64_t n = Quantiles::kExact + 50'000;
  std::vector<double> values = random_vector<double>(n, 2, 0.01);
  values[7] = 0;
  for (const double v : values) q.add(v);
  std::sort(values.begin(), values.end());
  EXPECT_FALSE(q.is_exact());
  EXPECT_EQ(q.count(), n);
  uint64_t total = 0;
  double last = -1e300;
  q.for_each([&](double value, uint64_t times) {
    total += times;
    EXPECT_GT(value, last);
    last = value;
  });
  EXPECT_EQ(total, n);
  for (const uint64_t i : {uint64_t{0}, n / 100, n / 4, n / 3, n - n / 1000, n - 1}) {
    const double found = q.order_statistic(i), exact = values[i];
    EXPECT_GE(std::abs(found), std::abs(exact) * (1 - 1e-7));
    EXPECT_LE(std::abs(found), std::abs(exact) * (1 + 1.0 / 1024));
    EXPECT_GE(found * exact, 0);
  }
}

}  // namespace
}  // namespace selfnorm
