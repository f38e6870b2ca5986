#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "selfnorm/error.h"
#include "selfnorm/head.h"

namespace selfnorm {
namespace {

std::vector<float> normal_states(uint64_t n) {
  std::mt19937_64 random(4);
  std::normal_distribution<float> normal;
  std::vector<float> out(3 * n);
  for (float& v : out) v = normal(random);
  return out;
}

std::vector<double> of_states(const std::vector<float>& h, double (*log_z)(const float*)) {
  std::vector<double> out;
  for (size_t i = 0; i < h.size(); i += 3) out.push_back(log_z(&h[i]));
  return out;
}

TEST(NormalizerFit, WhatIsLinearIsFoundAndCertified) {
  const std::vector<float> h = normal_states(2000);
  const auto log_z = of_states(h, [](const float* x) { return 2.5 + 0.5 * x[0] - 2.0 * x[2]; });
  const FittedNormalizer found = fit_normalizer(Rows(h, 3), log_z, {.hidden = 0});
  EXPECT_EQ(found.fitted + found.certified, 2000u);
  EXPECT_NEAR(found.b.intercept, 2.5, 1e-3);
  EXPECT_NEAR(found.b.slope[0], 0.5, 1e-3);
  EXPECT_NEAR(found.b.slope[1], 0.0, 1e-3);
  EXPECT_NEAR(found.b.slope[2], -2.0, 1e-3);
  EXPECT_LT(found.rms, 1e-3);
  ASSERT_TRUE(found.eps.has_value());
  EXPECT_LT(*found.eps, 4e-3);
}

TEST(NormalizerFit, ANetworkFindsWhatIsNot) {
  const std::vector<float> h = normal_states(3000);
  const auto log_z = of_states(h, [](const float* x) { return std::abs(static_cast<double>(x[0])); });
  const FittedNormalizer linear = fit_normalizer(Rows(h, 3), log_z, {.hidden = 0}),
                         network = fit_normalizer(Rows(h, 3), log_z, {.hidden = 16});
  EXPECT_EQ(network.b.output.size(), 16u);
  EXPECT_LT(network.rms, 0.3 * linear.rms);
  EXPECT_LT(*network.eps, *linear.eps);
}

TEST(NormalizerFit, FewStatesCertifyNothing) {
  const std::vector<float> h = normal_states(100);
  const std::vector<double> log_z(100, 1.0);
  EXPECT_FALSE(fit_normalizer(Rows(h, 3), log_z, {.hidden = 0}).eps.has_value());
  EXPECT_THROW(fit_normalizer(Rows(h, 3), std::span(log_z).first(99)), Error);
  EXPECT_THROW(fit_normalizer(Rows(h, 3), std::vector<double>(100, std::nan(""))), Error);
  EXPECT_THROW(fit_normalizer(Rows(h, 3), log_z, {.hold_out = 0}), Error);
  EXPECT_THROW(fit_normalizer(Rows(std::span(h).first(30), 3), std::span(log_z).first(10)), Error);
}

}  // namespace
}  // namespace selfnorm
