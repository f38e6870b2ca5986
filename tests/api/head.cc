#include "selfnorm/head.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

struct RandomHead {
  std::vector<float> weight, bias, states;
};

// K = 50 classes, d = 8; log Z is nearly linear in h when the spread of the weights is small.
RandomHead random_head(float spread) {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  RandomHead out;
  std::vector<float> common(8);
  for (float& v : common) v = normal(random);
  for (int k = 0; k < 50; ++k) {
    for (int j = 0; j < 8; ++j)
      out.weight.push_back(common[static_cast<size_t>(j)] + spread * normal(random));
    out.bias.push_back(normal(random));
  }
  for (int i = 0; i < 8 * 6000; ++i) out.states.push_back(normal(random));
  return out;
}

double log_z(const std::vector<float>& weight, const std::vector<float>& bias, const float* h) {
  double sum = 0;
  for (size_t k = 0; k < 50; ++k) {
    double s = bias[k];
    for (size_t j = 0; j < 8; ++j) s += double(weight[8 * k + j]) * h[j];
    sum += std::exp(s);
  }
  return std::log(sum);
}

TEST(ApiHead, TheGaugeTakesWhatIsLinearAndCertifiesTheRest) {
  const RandomHead head = random_head(0.05f);
  const NormalizedHead found = normalize_head({head.weight, 8}, head.bias, {head.states, 8});
  EXPECT_EQ(found.rung, "constant");
  EXPECT_GT(found.before.rms, 1);
  EXPECT_LT(found.after.rms, 0.1);
  ASSERT_TRUE(found.after.smallest_eps);
  EXPECT_LE(*found.after.smallest_eps, 0.1);
  for (size_t i = 0; i < 20; ++i) {
    const float* h = head.states.data() + 8 * i;
    const double before = log_z(head.weight, head.bias, h), after = log_z(found.weight, found.bias, h);
    double moved = found.intercept;
    for (size_t j = 0; j < 8; ++j) moved += found.slope[j] * h[j];
    EXPECT_NEAR(before - after, moved, 1e-4);
  }
  const std::vector<double> all = head_log_normalizers({head.weight, 8}, head.bias, {head.states, 8});
  EXPECT_NEAR(all[7], log_z(head.weight, head.bias, head.states.data() + 56), 1e-4);
}

// Of states that are 20 alone, again and again, those held out are all of them.
TEST(ApiHead, TheCertificateIsThatOfTheRoundedHead) {
  RandomHead head = random_head(0.05f);
  for (size_t i = 160; i < head.states.size(); ++i) head.states[i] = head.states[i - 160];
  const NormalizedHead found =
      normalize_head({head.weight, 8}, head.bias, {head.states, 8},
                     {.weight_type = HeadType::bfloat16, .bias_type = HeadType::bfloat16});
  for (const auto* values : {&found.weight, &found.bias})
    for (const float v : *values) EXPECT_EQ(std::bit_cast<uint32_t>(v) & 0xFFFFu, 0u) << v;
  double largest = -1e9;
  for (size_t i = 0; i < 20; ++i)
    largest = std::max(largest, log_z(found.weight, found.bias, head.states.data() + 8 * i));
  EXPECT_NEAR(found.after.largest, largest, 1e-5);
  const NormalizedHead whole = normalize_head({head.weight, 8}, head.bias, {head.states, 8});
  EXPECT_GT(std::abs(whole.after.largest - largest), 1e-4);
}

TEST(ApiHead, WhereAConstantWillNotDoAHigherRungIsChosen) {
  const RandomHead head = random_head(0.7f);
  const NormalizedHead strict =
      normalize_head({head.weight, 8}, head.bias, {head.states, 8}, {.within = 1e-4});
  EXPECT_EQ(strict.rung, "exact");
  ASSERT_TRUE(strict.network);
  EXPECT_LT(strict.network->rms, strict.after.rms);
  HeadOptions lenient;
  lenient.within = (*strict.network->smallest_eps + *strict.after.smallest_eps) / 2;
  const NormalizedHead found = normalize_head({head.weight, 8}, head.bias, {head.states, 8}, lenient);
  EXPECT_EQ(found.rung, "network");
  EXPECT_EQ(found.normalizer.slope.size(), 8u);
}

TEST(ApiHead, MistakesSayWhatWasExpected) {
  const RandomHead head = random_head(0.1f);
  EXPECT_THROW(normalize_head({head.weight, 8}, head.bias, {head.states, 4}), Error);
  EXPECT_THROW(normalize_head({head.weight, 8}, std::vector<float>(3), {head.states, 8}), Error);
  EXPECT_THROW(normalize_head({head.weight, 8}, {}, {std::span(head.states).first(8), 8}), Error);
  EXPECT_THROW(normalize_head({head.weight, 8}, {}, {head.states, 8}, {.within = 0}), Error);
}

}  // namespace
}  // namespace selfnorm
