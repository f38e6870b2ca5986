#include "math/sigmoid.h"

#include <gtest/gtest.h>

#include "gradient_check.h"
#include "random_data.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

TEST(Sigmoid, KnownValues) {
  EXPECT_EQ(sigmoid(0), 0.5);
  EXPECT_DOUBLE_EQ(softplus(0), std::log(2.0));
  EXPECT_DOUBLE_EQ(sigmoid(std::log(3.0)), 0.75);
  EXPECT_DOUBLE_EQ(softplus(std::log(3.0)), std::log(4.0));
}

TEST(Sigmoid, FarAway) {
  EXPECT_EQ(sigmoid(800), 1);
  EXPECT_EQ(sigmoid(-800), 0);
  EXPECT_DOUBLE_EQ(sigmoid(-700), std::exp(-700.0));
  EXPECT_EQ(softplus(800), 800);
  EXPECT_DOUBLE_EQ(softplus(-700), std::exp(-700.0));
  EXPECT_EQ(sigmoid(kInfinity), 1);
  EXPECT_EQ(sigmoid(-kInfinity), 0);
  EXPECT_EQ(softplus(kInfinity), kInfinity);
  EXPECT_EQ(softplus(-kInfinity), 0);
  EXPECT_TRUE(std::isnan(sigmoid(std::nan(""))));
  EXPECT_TRUE(std::isnan(softplus(std::nan(""))));
}

TEST(Sigmoid, Identities) {
  for (double x = -40; x <= 40; x += 0.37) {
    EXPECT_NEAR(sigmoid(x) + sigmoid(-x), 1, 1e-15);
    EXPECT_NEAR(softplus(x) - softplus(-x), x, 1e-13);
    EXPECT_NEAR(softplus(x), -std::log(sigmoid(-x)), 1e-9 * std::max(1.0, std::abs(x)));
    expect_gradient([](const std::vector<double>& at) { return softplus(at[0]); }, {x}, {sigmoid(x)}, 1e-5,
                    1e-8);
  }
}

// Every length up to several vectors, and beyond what one product of factors may hold.
TEST(SigmoidInPlace, AgreesWithOneAtATime) {
  for (const size_t n : {0u, 1u, 2u, 3u, 5u, 7u, 8u, 9u, 17u, 959u, 960u, 961u, 5000u}) {
    for (const double size : {0.0, 1.0, 30.0}) {
      std::vector<double> x = random_vector<double>(n, 3 + n, size);
      SigmoidSums expected;
      std::vector<double> values;
      for (const double v : x) {
        values.push_back(sigmoid(v));
        expected.sigmoid += sigmoid(v);
        expected.softplus += softplus(v);
      }
      const SigmoidSums found = sigmoid_in_place(x.data(), n);
      EXPECT_NEAR(found.sigmoid, expected.sigmoid, 1e-13 * (1 + expected.sigmoid)) << n;
      EXPECT_NEAR(found.softplus, expected.softplus, 1e-13 * (1 + expected.softplus)) << n;
      for (size_t i = 0; i < n; ++i) EXPECT_NEAR(x[i], values[i], 4e-16 + 1e-14 * values[i]) << n;
    }
  }
}

TEST(SigmoidInPlace, FarAwayAndNotANumber) {
  for (const size_t at : {0u, 5u, 8u}) {
    std::vector<double> x(9, 0);
    x[at] = kInfinity;
    EXPECT_EQ(sigmoid_in_place(x.data(), 9).softplus, kInfinity);
    EXPECT_EQ(x[at], 1);
    x.assign(9, 0);
    x[at] = -kInfinity;
    EXPECT_DOUBLE_EQ(sigmoid_in_place(x.data(), 9).softplus, 8 * std::log(2.0));
    EXPECT_EQ(x[at], 0);
    x.assign(9, 0);
    x[at] = 1e300;
    EXPECT_EQ(sigmoid_in_place(x.data(), 9).softplus, 1e300);
    x.assign(9, 0);
    x[at] = std::nan("");
    const SigmoidSums sums = sigmoid_in_place(x.data(), 9);
    EXPECT_TRUE(std::isnan(x[at]));
    EXPECT_TRUE(std::isnan(sums.sigmoid));
    EXPECT_TRUE(std::isnan(sums.softplus));
    EXPECT_EQ(x[at == 0 ? 1 : 0], 0.5);
  }
}

}  // namespace
}  // namespace selfnorm
