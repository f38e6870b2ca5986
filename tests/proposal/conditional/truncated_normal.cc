#include "proposal/conditional/truncated_normal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "gradient_check.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

// Quadrature with mpmath, 40 digits and more.
struct Known {
  double mean, scale, lower, upper, y, log_density, first, second;
};
constexpr Known kKnown[] = {
    {0.3, 1.2, 0, kInfinity, 0.7, -0.6438315701447524, 0.6458393710168173, 0.8385401572457957},
    {-30, 1, 0, kInfinity, 0.02, 2.802105423138524, 0.03325966743367704, 0.002209976989688888},
    {-30, 1, 0, 1, 0.02, 2.802105423138579, 0.03325966743362217, 0.002209976989630429},
    {35, 1, -1, 5, 4.9, 0.3973054231385351, -0.03325966743367704, 0.002209976989688888},
    {0.2, 0.5, -1, 1, 0.9, -1.140722741568543, -0.09447812664299439, 0.7532343379281474},
    {2, 100, 0, 1, 0.3, -2.78342777746471e-5, -0.004999875000416713, 3.333205556600574e-5},
    {-1000, 0.001, 0, kInfinity, 1e-09, 19.72326583694691, 9.99999999998e-7, 1.99999999999e-12},
    {1000, 0.001, -kInfinity, 1, 0.99999999, 10.73226528636648, -1.001001000998995e-6, 2.004006007999972e-12},
    {0.5, 1000000.0, 0, 1, 0.25, 1.041666666666597e-14, 0.0, 8.333333333333056e-14},
    {-3, 1, 0, 0.4, 0.1, 1.170931354201263, 0.158665253073332, 0.0374268812842298},
    {-0.1, 1, 0, 2, 1.5, -1.383189143262303, 0.698016669960931, 0.731316008377985},
    {5, 2, -kInfinity, 6, 1, -3.243139298475962, -0.5091604338370335, 0.7454197830814833}};

TruncatedNormal of(const Known& k) { return TruncatedNormal::of(k.mean, k.scale, k.lower, k.upper); }

TEST(TruncatedNormal, KnownDensitiesAndMoments) {
  for (const Known& k : kKnown) {
    const TruncatedNormal q = of(k);
    EXPECT_NEAR(q.log_density(k.y), k.log_density, 1e-13 * std::max(1.0, std::abs(k.log_density))) << k.mean;
    EXPECT_NEAR(q.first, k.first, 1e-13 * std::max(1e-3, std::abs(k.first))) << k.mean;
    EXPECT_NEAR(q.second, k.second, 1e-15 + 1e-13 * k.second) << k.mean;
  }
}

TEST(TruncatedNormal, WithoutBoundsItIsNormal) {
  const TruncatedNormal q = TruncatedNormal::of(2, 3, -kInfinity, kInfinity);
  EXPECT_NEAR(q.log_density(5), -0.5 - std::log(3) - 0.91893853320467274, 1e-15);
  EXPECT_EQ(q.first, 0);
  EXPECT_EQ(q.second, 1);
}

// In y the log density is a quadratic, whose central differences are exact for large steps.
TEST(TruncatedNormal, DerivativesInMeanScaleAndY) {
  for (const Known& k : kKnown) {
    if (k.scale >= 1e5) continue;  // every difference is below rounding
    const TruncatedNormal q = of(k);
    const double unit = 1e6 * k.scale / (1 + std::abs(q.tilt));
    const auto density = [&](const std::vector<double>& at) {
      return TruncatedNormal::of(k.mean + k.scale * at[0], k.scale * (1 + at[1]), k.lower, k.upper)
          .log_density(k.y + unit * at[2]);
    };
    const double tau = (k.y - q.anchor) / k.scale;
    expect_gradient(density, {0, 0, 0},
                    {tau - q.first, tau * tau - q.second + 2 * q.tilt * (tau - q.first),
                     -(tau + q.tilt) * unit / k.scale},
                    1e-5, 1e-7);
  }
}

// The same function on both sides of every switch of method.
TEST(TruncatedNormal, ContinuousInItsParameters) {
  for (double mean = -6; mean < 4; mean += 0.01)
    for (const double upper : {0.05, 1.0, 3.0, kInfinity}) {
      const TruncatedNormal q = TruncatedNormal::of(mean, 1, 0, upper);
      const TruncatedNormal near = TruncatedNormal::of(mean + 1e-7, 1, 0, upper);
      const double y = 0.03, slope = y - q.anchor - q.first;
      EXPECT_NEAR(near.log_density(y) - q.log_density(y), 1e-7 * slope, 1e-13) << mean << ' ' << upper;
    }
}

TEST(TruncatedNormal, FiniteForExtremes) {
  for (const double mean : {-3e38, -1e3, 0.0, 0.5, 1e3, 3e38})
    for (const double scale : {1e-6, 1e-3, 100.0, 3e38})
      for (const auto& [lower, upper] : {std::pair{0.0, 1.0}, {0.0, kInfinity}, {-kInfinity, 1.0}}) {
        const TruncatedNormal q = TruncatedNormal::of(mean, scale, lower, upper);
        for (const double v : {q.log_density(0), q.log_density(0.5), q.log_density(1), q.first, q.second})
          EXPECT_TRUE(std::isfinite(v)) << mean << ' ' << scale;
        RandomStream random(1);
        const double y = q.draw(random);
        EXPECT_TRUE(y >= lower && y <= upper) << mean << ' ' << scale << ' ' << y;
      }
}

// Kolmogorov and Smirnov's distance from the density's integral (trapezoids between the sorted draws);
// 1.95 / sqrt(n) is exceeded in one case of 1,000.
TEST(TruncatedNormal, DrawsFollowTheDensity) {
  constexpr size_t n = 4000;
  for (const Known& k : kKnown) {
    const TruncatedNormal q = of(k);
    RandomStream random(7);
    std::vector<double> y(n);
    for (double& v : y) v = q.draw(random);
    std::ranges::sort(y);
    ASSERT_GE(y.front(), k.lower);
    ASSERT_LE(y.back(), k.upper);
    const double unit = k.scale / (1 + std::abs(q.tilt));
    double at = std::max(k.lower, y.front() - 12 * unit), mass = 0, distance = 0;
    for (size_t i = 0; i < n; ++i) {
      const double steps = std::ceil(std::max(1.0, 50 * (y[i] - at) / unit)), h = (y[i] - at) / steps;
      for (double s = 0; s < steps; ++s) mass += h * std::exp(q.log_density(at + (s + 0.5) * h));
      at = y[i];
      distance = std::max({distance, std::abs(mass - static_cast<double>(i) / n),
                           std::abs(mass - static_cast<double>(i + 1) / n)});
    }
    EXPECT_LT(distance, 1.95 / std::sqrt(n)) << k.mean << ' ' << k.scale;
  }
}

}  // namespace
}  // namespace selfnorm
