#include "math/activation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "math/sigmoid.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

struct Derivatives {
  double f, d1, d2, d3;
};

Derivatives expected(Activation name, double z) {
  const double s = sigmoid(z), s1 = s * sigmoid(-z), s2 = s1 * (1 - 2 * s),
               s3 = s2 * (1 - 2 * s) - 2 * s1 * s1;
  const double t = std::tanh(z), t1 = 1 - t * t;
  const double below = 0.5 * std::erfc(-z / std::numbers::sqrt2);
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
  switch (name) {
    case Activation::silu:
      return {z * s, s + z * s1, 2 * s1 + z * s2, 3 * s2 + z * s3};
    case Activation::relu:
      return {std::max(z, 0.0), z > 0 ? 1.0 : 0.0, 0, 0};
    case Activation::tanh:
      return {t, t1, -2 * t * t1, t1 * (6 * t * t - 2)};
    case Activation::softplus:
      return {softplus(z), s, s1, s2};
    case Activation::gelu:
      return {z * below, below + z * density, density * (2 - z * z), density * (z * z * z - 4 * z)};
  }
  return {};
}

std::vector<float> points() {
  std::vector<float> z;
  for (int i = -400; i <= 400; ++i) z.push_back(0.05f * static_cast<float>(i));
  for (const float large : {30.0f, 88.0f, 100.0f, 1e4f, 1e20f}) z.insert(z.end(), {large, -large});
  return z;
}

const std::vector<Activation> kAll = {Activation::silu, Activation::relu, Activation::tanh,
                                      Activation::softplus, Activation::gelu};

TEST(Activation, ValuesAndThreeDerivatives) {
  const std::vector<float> z = points();
  for (const Activation f : kAll) {
    std::vector<float> value(z.size()), d1(z.size()), d2(z.size()), d3(z.size());
    activate_jet(f, {1, z.size(), z.size()}, z.data(), {value.data(), d1.data(), d2.data(), d3.data()});
    for (size_t i = 0; i < z.size(); ++i) {
      const Derivatives exact = expected(f, static_cast<double>(z[i]));
      // gelu's Phi is within 1e-7, and is multiplied by z.
      EXPECT_NEAR(value[i], exact.f, 4e-7 * std::max(1.0, std::abs(static_cast<double>(z[i]))))
          << activation_names()[static_cast<size_t>(f)] << ' ' << z[i];
      EXPECT_NEAR(d1[i], exact.d1, 2e-6) << activation_names()[static_cast<size_t>(f)] << ' ' << z[i];
      EXPECT_NEAR(d2[i], exact.d2, 2e-6) << activation_names()[static_cast<size_t>(f)] << ' ' << z[i];
      EXPECT_NEAR(d3[i], exact.d3, 4e-6) << activation_names()[static_cast<size_t>(f)] << ' ' << z[i];
    }
  }
}

// The same bits with or without derivatives, in place, for any number of columns; nothing beyond them is
// touched.
TEST(Activation, RowsInsideAStride) {
  const std::vector<float> all = points();
  for (const Activation f : kAll) {
    for (const size_t columns : {1u, 3u, 4u, 8u, 15u, 16u, 17u, 33u}) {
      constexpr size_t kRows = 3, kStride = 40;
      std::vector<float> z(all.begin(), all.begin() + kRows * kStride), jet(z.size(), 9), d1(z.size(), 9),
          d2(z.size(), 9), d3(z.size(), 9), slope(z.size(), 9), alone(z.size(), 9);
      const RowBlock block{kRows, columns, kStride};
      activate_jet(f, block, z.data(), {jet.data(), d1.data(), d2.data(), d3.data()});
      activate(f, block, z.data(), alone.data(), nullptr);
      EXPECT_EQ(alone, jet);
      std::vector<float> in_place = z;
      activate(f, block, in_place.data(), in_place.data(), slope.data());
      EXPECT_EQ(slope, d1);
      for (size_t i = 0; i < z.size(); ++i) {
        const bool is_inside = i % kStride < columns;
        EXPECT_EQ(in_place[i], is_inside ? jet[i] : z[i]);
        if (!is_inside) {
          EXPECT_EQ(jet[i], 9);
          EXPECT_EQ(d3[i], 9);
        }
      }
    }
  }
}

TEST(Activation, DoesNotHideNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> z(20, nan);
  for (const Activation f : kAll) {
    std::vector<float> value(20), d1(20), d2(20), d3(20);
    activate_jet(f, {1, 20, 20}, z.data(), {value.data(), d1.data(), d2.data(), d3.data()});
    for (size_t i = 0; i < 20; ++i) {
      EXPECT_TRUE(std::isnan(value[i])) << activation_names()[static_cast<size_t>(f)];
      EXPECT_TRUE(std::isnan(d1[i])) << activation_names()[static_cast<size_t>(f)];
    }
  }
  std::vector<float> cosine(20), sine(20);
  cos_sin(20, z.data(), cosine.data(), sine.data());
  for (size_t i = 0; i < 20; ++i) EXPECT_TRUE(std::isnan(cosine[i]) && std::isnan(sine[i]));
}

TEST(Activation, CosinesAndSines) {
  std::vector<float> z = points();
  z.insert(z.end(), {38999.0f, -39001.0f, 1e10f, 3e38f});
  std::vector<float> cosine(z.size()), sine(z.size());
  cos_sin(z.size(), z.data(), cosine.data(), sine.data());
  for (size_t i = 0; i < z.size(); ++i) {
    EXPECT_NEAR(cosine[i], std::cos(static_cast<double>(z[i])), 1e-6) << z[i];
    EXPECT_NEAR(sine[i], std::sin(static_cast<double>(z[i])), 1e-6) << z[i];
  }
}

TEST(Activation, ProductsOfRows) {
  std::vector<float> x(60), y(60), product(60, -1), again(60, -1), sums(20, 1);
  for (size_t i = 0; i < 60; ++i) x[i] = static_cast<float>(i), y[i] = 2 + static_cast<float>(i % 7);
  multiply_rows({2, 19, 30}, x.data(), y.data(), product.data(), nullptr);
  multiply_rows({2, 19, 30}, x.data(), y.data(), again.data(), sums.data());
  EXPECT_EQ(again, product);
  for (size_t j = 0; j < 20; ++j) EXPECT_EQ(sums[j], j < 19 ? 1 + product[j] + product[30 + j] : 1);
  for (size_t i = 0; i < 60; ++i) EXPECT_EQ(product[i], i % 30 < 19 ? x[i] * y[i] : -1);
}

TEST(Activation, Names) {
  for (const std::string& name : activation_names())
    EXPECT_EQ(activation_names()[static_cast<size_t>(activation_of(name))], name);
  EXPECT_THROW(activation_of("swish"), Error);
}

}  // namespace
}  // namespace selfnorm
