#include "selfnorm/math/sigmoid.h"

#include <gtest/gtest.h>

#include <limits>

#include "gradient_check.h"

namespace selfnorm {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

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

}  // namespace
}  // namespace selfnorm
