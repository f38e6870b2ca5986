#include "objective/score_matching.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "math/random.h"

namespace selfnorm {
namespace {

// p = N(0, 1/eta): s = -eta x^2 / 2, first = -eta x, second = -eta. The mean loss eta^2 E x^2 / 2 - eta is
// least at eta = 1 / E x^2.
TEST(ScoreMatching, TheBestGaussianHasTheVarianceOfTheData) {
  RandomStream random(3);
  std::vector<double> data(2000);
  double square = 0;
  for (double& x : data) {
    x = 1.7 * random.normal();
    square += x * x / 2000;
  }
  const auto mean_loss = [&](double eta) {
    double sum = 0;
    for (const double x : data) sum += match_along_direction(-eta * x, -eta).loss / 2000;
    return sum;
  };
  const double best = 1 / square;
  EXPECT_LT(mean_loss(best), mean_loss(best * 1.01));
  EXPECT_LT(mean_loss(best), mean_loss(best / 1.01));
  EXPECT_NEAR(mean_loss(best), -0.5 / square, 1e-9);
}

TEST(ScoreMatching, DerivativesAgreeWithDifferences) {
  const double h = 1e-5;
  const DirectionTerms at = match_along_direction(1.3, -0.4);
  EXPECT_NEAR(
      at.d_first,
      (match_along_direction(1.3 + h, -0.4).loss - match_along_direction(1.3 - h, -0.4).loss) / (2 * h),
      1e-8);
  EXPECT_NEAR(
      at.d_second,
      (match_along_direction(1.3, -0.4 + h).loss - match_along_direction(1.3, -0.4 - h).loss) / (2 * h),
      1e-8);
  const std::vector<float> noise{0.5f, -1.0f};
  std::vector<float> gradient{0.25f, 2.0f}, d(2), unused(2);
  match_denoised(gradient, noise, 0.5, d);
  for (size_t j = 0; j < 2; ++j) {
    std::vector<float> up = gradient, down = gradient;
    up[j] += 0.0625f;
    down[j] -= 0.0625f;
    EXPECT_NEAR(d[j],
                (match_denoised(up, noise, 0.5, unused) - match_denoised(down, noise, 0.5, unused)) / 0.125,
                1e-5);
  }
}

// The optimum of dsm for N(0, v) data is N(0, v + sigma^2): s' = -x / (v + sigma^2).
TEST(ScoreMatching, DenoisingFindsTheSmoothedDensity) {
  RandomStream random(5);
  const double sigma = 0.8, variance = 1.5;
  std::vector<float> noisy(20000), noise(20000);
  for (size_t i = 0; i < noisy.size(); ++i) {
    noise[i] = static_cast<float>(random.normal());
    noisy[i] = static_cast<float>(std::sqrt(variance) * random.normal() + sigma * noise[i]);
  }
  const auto mean_loss = [&](double eta) {
    double sum = 0;
    for (size_t i = 0; i < noisy.size(); ++i) {
      const auto g = static_cast<float>(-eta * noisy[i]);
      float d = 0;
      sum += match_denoised({&g, 1}, {&noise[i], 1}, sigma, {&d, 1});
    }
    return sum;
  };
  double best = 0, least = INFINITY;
  for (double eta = 0.2; eta < 1; eta += 0.01) {
    if (const double loss = mean_loss(eta); loss < least) {
      least = loss;
      best = eta;
    }
  }
  EXPECT_NEAR(best, 1 / (variance + sigma * sigma), 0.03);
}

}  // namespace
}  // namespace selfnorm
