#include "selfnorm/runtime/log_sum_exp.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace selfnorm {
namespace {

double log_sum(const std::vector<double>& scores) {
  LogSumExp out;
  for (const double s : scores) out.add(s);
  return out.value();
}

TEST(LogSumExp, ClosedForms) {
  EXPECT_EQ(log_sum({}), -kInfinity);
  EXPECT_EQ(log_sum({-3.5}), -3.5);
  EXPECT_DOUBLE_EQ(log_sum({1000, 1000}), 1000 + std::log(2.0));
  EXPECT_DOUBLE_EQ(log_sum({-1000, -1000, -1000}), -1000 + std::log(3.0));
  EXPECT_DOUBLE_EQ(log_sum({-1e300, 0, 1e300}), 1e300);
}

TEST(LogSumExp, InfinitiesAndNaN) {
  EXPECT_EQ(log_sum({-kInfinity, -kInfinity}), -kInfinity);
  EXPECT_EQ(log_sum({-kInfinity, 2}), 2);
  EXPECT_EQ(log_sum({2, -kInfinity}), 2);
  EXPECT_EQ(log_sum({1, kInfinity, 2, kInfinity}), kInfinity);
  EXPECT_TRUE(std::isnan(log_sum({1, NAN, 2})));
  EXPECT_TRUE(std::isnan(log_sum({NAN, kInfinity})));
}

RC_GTEST_PROP(LogSumExp, MergeOfPartsIsTheWhole, (std::vector<int16_t> a, std::vector<int16_t> b)) {
  LogSumExp left, right, whole;
  for (const int16_t v : a) left.add(v / 64.0), whole.add(v / 64.0);
  for (const int16_t v : b) right.add(v / 64.0), whole.add(v / 64.0);
  left.merge(right);
  RC_ASSERT((left.value() == whole.value()) || std::fabs(left.value() - whole.value()) < 1e-12 * 1024);
}

}  // namespace
}  // namespace selfnorm
