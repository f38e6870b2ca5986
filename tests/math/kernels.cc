#include "math/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "random_data.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

template <class Real>
class Kernels : public testing::Test {
 protected:
  static constexpr double kTolerance = std::is_same_v<Real, float> ? 2e-6 : 1e-13;
};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(Kernels, Reals);

TYPED_TEST(Kernels, ExpInPlaceAgreesWithTheDefinition) {
  for (const size_t n : {1u, 2u, 3u, 15u, 16u, 17u, 31u, 64u, 1000u}) {
    std::vector<TypeParam> x = random_vector<TypeParam>(n, n, 10);
    const std::vector<TypeParam> before = x;
    const LogSumExp sum = exp_in_place(x.data(), n);
    LogSumExp expected;
    for (const TypeParam v : before) expected.add(static_cast<double>(v));
    EXPECT_EQ(sum.max, expected.max);
    EXPECT_NEAR(sum.value(), expected.value(), this->kTolerance * std::max(1.0, std::abs(expected.value())));
    for (size_t i = 0; i < n; ++i) {
      EXPECT_NEAR(x[i], std::exp(static_cast<double>(before[i]) - sum.max), this->kTolerance);
    }
  }
}

TYPED_TEST(Kernels, ExpInPlaceOfInfinitiesAndNothing) {
  const TypeParam low = static_cast<TypeParam>(-kInfinity);
  std::vector<TypeParam> all_low(20, low);
  EXPECT_EQ(exp_in_place(all_low.data(), all_low.size()).value(), -kInfinity);
  for (const TypeParam v : all_low) EXPECT_EQ(v, 0);
  std::vector<TypeParam> some(20, low);
  some[3] = 2;
  EXPECT_NEAR(exp_in_place(some.data(), some.size()).value(), 2, 1e-6);
  EXPECT_EQ(some[4], 0);
  EXPECT_EQ(exp_in_place(some.data(), 0).value(), -kInfinity);
}

TYPED_TEST(Kernels, ExpInPlaceDoesNotHideNaN) {
  for (const size_t place : {0u, 5u, 18u}) {
    std::vector<TypeParam> x(19, 1);
    x[place] = std::numeric_limits<TypeParam>::quiet_NaN();
    EXPECT_TRUE(std::isnan(exp_in_place(x.data(), x.size()).value())) << place;
  }
}

TYPED_TEST(Kernels, VectorOperations) {
  for (const size_t n : {0u, 1u, 7u, 33u, 257u}) {
    const auto x = random_vector<TypeParam>(n, 1);
    const auto y = random_vector<TypeParam>(n, 2);
    double expected = 0;
    for (size_t i = 0; i < n; ++i) expected += static_cast<double>(x[i]) * static_cast<double>(y[i]);
    EXPECT_NEAR(dot(x.data(), y.data(), n), expected, 1e-9);
    auto z = y;
    add_scaled(TypeParam{3}, x.data(), z.data(), n);
    for (size_t i = 0; i < n; ++i) EXPECT_NEAR(z[i], 3 * x[i] + y[i], 1e-5);
    scale(TypeParam{-2}, z.data(), n);
    for (size_t i = 0; i < n; ++i) EXPECT_NEAR(z[i], -2 * (3 * x[i] + y[i]), 1e-5);
  }
}

// Both sparse kernels against loops, for widths on every side of the register blocks and with a row map.
TYPED_TEST(Kernels, SparseProductAndOuter) {
  const std::vector<uint32_t> column{0, 2, 5};
  const std::vector<float> value{1.5f, -2.0f, 0.25f};
  const SparseView x{column.data(), value.data(), column.size()};
  const std::vector<uint32_t> map{3, 9, 9, 9, 9, 7};
  for (const size_t width : {1u, 5u, 16u, 31u, 64u, 67u, 150u}) {
    const size_t stride = width + 3;
    const auto weights = random_vector<TypeParam>(10 * stride, width);
    for (const uint32_t* rows : {static_cast<const uint32_t*>(nullptr), map.data()}) {
      std::vector<TypeParam> out(width, 1);
      add_sparse_product(x, weights.data(), stride, rows, out.data(), width);
      for (size_t k = 0; k < width; ++k) {
        double expected = 1;
        for (size_t j = 0; j < 3; ++j) {
          const uint32_t row = rows == nullptr ? column[j] : rows[column[j]];
          expected += static_cast<double>(value[j]) * static_cast<double>(weights[row * stride + k]);
        }
        EXPECT_NEAR(out[k], expected, 1e-5);
      }
    }
    std::vector<TypeParam> gradient(6 * stride, 0);
    add_sparse_outer(x, weights.data(), gradient.data(), stride, width);
    EXPECT_NEAR(gradient[2 * stride + width - 1], -2 * weights[width - 1], 1e-5);
    EXPECT_EQ(gradient[1 * stride], 0);
    EXPECT_EQ(gradient[2 * stride + width], 0);
  }
}

TEST(SoftmaxMoments, AgreeWithTheirDefinition) {
  RandomStream random(5);
  for (size_t n = 1; n < 70; ++n) {
    std::vector<float> x(n);
    for (float& v : x) v = static_cast<float>(20 * random.normal());
    const SoftmaxMoments m = softmax_moments(x.data(), n);
    LogSumExp sum;
    for (const float v : x) sum.add(static_cast<double>(v));
    double expected = 0;
    for (const float v : x)
      expected += std::exp(static_cast<double>(v) - sum.value()) * static_cast<double>(v);
    EXPECT_NEAR(m.log_z(), sum.value(), 1e-5 * (1 + std::abs(sum.value())));
    EXPECT_NEAR(m.expected(), expected, 1e-4);
    EXPECT_EQ(m.best, static_cast<uint64_t>(std::max_element(x.begin(), x.end()) - x.begin()));
  }
}

TEST(SoftmaxMoments, PartsAppendToTheWhole) {
  RandomStream random(6);
  std::vector<float> x(50);
  for (float& v : x) v = static_cast<float>(10 * random.normal());
  const SoftmaxMoments whole = softmax_moments(x.data(), 50);
  SoftmaxMoments parts;
  for (size_t first = 0; first < 50; first += 13)
    parts.append(softmax_moments(x.data() + first, std::min<size_t>(13, 50 - first)), first);
  EXPECT_NEAR(parts.log_z(), whole.log_z(), 1e-6);
  EXPECT_NEAR(parts.expected(), whole.expected(), 1e-5);
  EXPECT_EQ(parts.best, whole.best);
}

TEST(SoftmaxMoments, InfinityAndNotANumber) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {-inf, 1, 2, -inf};
  const SoftmaxMoments m = softmax_moments(x.data(), 4);
  EXPECT_NEAR(m.log_z(), std::log(std::exp(1.0) + std::exp(2.0)), 1e-6);
  EXPECT_NEAR(m.expected(), 1 + 1 / (1 + std::exp(-1.0)), 1e-6);
  EXPECT_EQ(m.best, 2u);
  const std::vector<float> nothing(3, -inf), bad = {1, std::nanf(""), 3};
  EXPECT_EQ(softmax_moments(nothing.data(), 3).log_z(), -inf);
  EXPECT_TRUE(std::isnan(softmax_moments(bad.data(), 3).log_z()));
  const std::vector<float> too_large = {1, inf};
  EXPECT_EQ(softmax_moments(too_large.data(), 2).log_z(), inf);
}

}  // namespace
}  // namespace selfnorm
