#include "model/regressor/regressor.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "math/parallel.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/log_sum_exp.h"
#include "small_regressors.h"

namespace selfnorm::test {
namespace {

EncodedFrame encoded(const Regressor& model, uint64_t rows) {
  EncodingReport report;
  return model.encoder.encode(small_frame(rows), report);
}

TEST(Regressor, ParametersComeInAFixedOrderAndCopiesAreTheirOwn) {
  Regressor model = random_regressor({.own_features = true});
  RegressorNetworks& m = model.members[0];
  const auto parts = m.parameters();
  ASSERT_EQ(parts.size(), 6u);
  EXPECT_EQ(parts[0].data(), m.features->parameters().data());
  EXPECT_EQ(parts[1].data(), m.tilt_features->parameters().data());
  EXPECT_EQ(parts[2].data(), m.mixture_head->parameters().data());
  EXPECT_EQ(parts[3].data(), m.context->parameters().data());
  EXPECT_EQ(parts[4].data(), m.tilt->parameters().data());
  EXPECT_EQ(parts[5].data(), m.normalizer->parameters().data());
  RegressorNetworks copy = m.copy();
  const auto copied = copy.parameters();
  ASSERT_EQ(copied.size(), 6u);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_TRUE(std::equal(parts[i].begin(), parts[i].end(), copied[i].begin(), copied[i].end())) << i;
    EXPECT_NE(parts[i].data(), copied[i].data());
  }
  EXPECT_EQ(random_regressor({.tilted = false}).members[0].parameters().size(), 2u);
  EXPECT_EQ(random_regressor({.tilted = false}).members[0].copy().parameters().size(), 2u);
}

TEST(Regressor, StandardisesWithinTheSupport) {
  Regressor model = linear_gaussian(2);
  model.mixture.lower = {(0.1 - 10) / 4, -kInfinity};
  model.mixture.upper = {kInfinity, 0.5};
  std::vector<float> u(2);
  const auto reach = [&](double first, double second) {
    return model.standardise(std::array{first, second}, u);
  };
  ASSERT_EQ(reach(14, 10), TargetReach::kInside);
  EXPECT_EQ(u, (std::vector<float>{1, 0}));
  ASSERT_EQ(reach(0.1, 12), TargetReach::kInside);
  EXPECT_GE(static_cast<double>(u[0]), model.mixture.lower[0]);
  EXPECT_NEAR(u[0], model.mixture.lower[0], 1e-6);
  EXPECT_EQ(u[1], 0.5);
  EXPECT_EQ(reach(1e6, -1e6), TargetReach::kInside);
  EXPECT_NEAR(model.log_volume(), 2 * std::log(4.0), 1e-15);
  EXPECT_EQ(reach(0.0999999, 10), TargetReach::kOutside);
  EXPECT_EQ(reach(14, 12.000001), TargetReach::kOutside);
  EXPECT_EQ(reach(NAN, 10), TargetReach::kOutside);
  EXPECT_EQ(reach(kInfinity, 10), TargetReach::kOutside);
  EXPECT_EQ(reach(1e38, 10), TargetReach::kFar);
  EXPECT_EQ(reach(14, -1e300), TargetReach::kFar);
  EXPECT_EQ(reach(1e300, 13), TargetReach::kOutside);
}

// Digits of the target below those of a float32 of its mean, and units beyond the range of float32.
TEST(Regressor, StandardisesDoubles) {
  Regressor model = linear_gaussian();
  std::vector<float> u(1);
  for (const auto& [mean, scale] : {std::array{1e9, 0.5}, {0.0, 1e60}, {-3e-50, 1e-50}}) {
    model.target_mean = {mean};
    model.target_scale = {scale};
    ASSERT_EQ(model.standardise(std::array{mean + 0.75 * scale}, u), TargetReach::kInside);
    EXPECT_NEAR(u[0], 0.75, 1e-6) << mean;
  }
  // No more than rounding is forgiven: 1 below the bound of numbers about 1e9 is outside.
  model.target_mean = {1e9};
  model.target_scale = {0.5};
  model.mixture.lower = {-4};
  model.mixture.upper = {kInfinity};
  EXPECT_EQ(model.standardise(std::array{1e9 - 2}, u), TargetReach::kInside);
  EXPECT_EQ(model.standardise(std::array{1e9 - 3}, u), TargetReach::kOutside);
}

// Every bound and every target next to it: what is accepted is inside as a float.
TEST(Regressor, RoundingNeverLeavesTheSupport) {
  Regressor model = linear_gaussian();
  RandomStream random(1);
  for (int i = 0; i < 2000; ++i) {
    const double lower = 3 * random.normal();
    model.target_mean = {random.normal()};
    model.target_scale = {std::exp(random.normal())};
    model.mixture.lower = {(lower - model.target_mean[0]) / model.target_scale[0]};
    model.mixture.upper = {model.mixture.lower[0] + 1e-3};
    std::vector<float> u(1);
    ASSERT_EQ(model.standardise(std::array{lower}, u), TargetReach::kInside);
    EXPECT_GE(static_cast<double>(u[0]), model.mixture.lower[0]);
    EXPECT_LE(static_cast<double>(u[0]), model.mixture.upper[0]);
  }
}

TEST(RegressorScores, AreTheTiltPlusTheLogOfTheBase) {
  for (const bool own_features : {false, true}) {
    for (const bool has_base : {true, false}) {
      Regressor model = random_regressor({.own_features = own_features});
      model.has_base = has_base;
      model.tail_weight = 0.25;
      const RegressorNetworks& m = model.members[0];
      const EncodedFrame x = encoded(model, 7);
      const auto scores = prepare_scores(model, 0, x.view());
      EXPECT_EQ(scores->rows(), 7u);
      EXPECT_EQ(scores->dimension(), 1u);
      EXPECT_FALSE(scores->is_normalised());
      const std::vector<float> y = {-1, 0.5f, 2, 0};
      const std::vector<uint32_t> row = {0, 3, 3, 6};
      const Points at{y.data(), 4, 1};
      std::vector<double> s(4), log_q(4), log_g(4), f(4);
      scores->score(at, row, s);

      std::vector<float> h(7 * 4), h_tilt(7 * 4), theta(7 * model.mixture.parameters()), c(7 * 5), b(7);
      m.features->evaluate(x.view(), h);
      (own_features ? m.tilt_features : m.features)->evaluate(x.view(), h_tilt);
      m.mixture_head->evaluate({{h.data(), 7, 4}, nullptr, 0}, theta);
      m.context->evaluate({{h_tilt.data(), 7, 4}, nullptr, 0}, c);
      m.normalizer->evaluate({{h_tilt.data(), 7, 4}, nullptr, 0}, b);
      const ConditionalMixture mixture(model.mixture);
      mixture.log_prob({{theta.data(), 7, model.mixture.parameters()}, at, row}, log_q, log_g);
      m.tilt->score({{c.data(), 7, 5}, at, row}, f);
      for (size_t i = 0; i < 4; ++i) {
        const double base =
            has_base ? std::log(0.75 * std::exp(log_q[i]) + 0.25 * std::exp(log_g[i])) : log_g[i];
        EXPECT_NEAR(s[i], f[i] + base, 1e-9) << i;
      }
      for (size_t i = 0; i < 7; ++i) EXPECT_EQ(scores->normalizer(i), static_cast<double>(b[i]));
    }
  }
}

TEST(RegressorScores, WithoutATiltAreADensity) {
  Regressor model = linear_gaussian();
  const std::vector<float> x = {0.5f, -1}, y = {1.25f, -2};
  const auto scores = prepare_scores(model, 0, {{x.data(), 2, 1}, nullptr, 0});
  EXPECT_TRUE(scores->is_normalised());
  EXPECT_EQ(scores->normalizer(1), 0);
  std::vector<double> s(2);
  scores->score({y.data(), 2, 1}, std::vector<uint32_t>{0, 1}, s);
  EXPECT_NEAR(s[0], -std::log(0.5) - 0.5 * std::log(2 * M_PI) - 0.125, 1e-5);
  EXPECT_NEAR(s[1], -std::log(0.5) - 0.5 * std::log(2 * M_PI), 1e-5);
}

TEST(RegressorScores, PlacesAreTheComponentsAndTheBroadOne) {
  Regressor model = linear_gaussian();
  const std::vector<float> x = {0.5f};
  const InputRows rows{{x.data(), 1, 1}, nullptr, 0};
  const auto narrow = prepare_scores(model, 0, rows)->places(0);
  ASSERT_EQ(narrow.size(), 1u);
  EXPECT_NEAR(narrow[0].weight, 1, 1e-12);
  EXPECT_NEAR(narrow[0].mean[0], 1, 1e-6);
  EXPECT_NEAR(narrow[0].scale[0], 0.5, 1e-6);
  model.tail_weight = 0.01;
  const auto both = prepare_scores(model, 0, rows)->places(0);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_NEAR(both[0].weight, 0.99, 1e-12);
  EXPECT_NEAR(both[1].weight, 0.01, 1e-12);
  EXPECT_EQ(both[1].mean[0], model.mixture.broad_mean);
  EXPECT_EQ(both[1].scale[0], model.mixture.broad_scale);
  model.has_base = false;
  EXPECT_NEAR(prepare_scores(model, 0, rows)->places(0)[1].weight, 0.5, 1e-12);
}

TEST(RegressorScores, TheSameForAnyNumberOfThreads) {
  const Regressor model = random_regressor({.dimension = 2});
  const EncodedFrame x = encoded(model, 300);
  RandomStream random(4);
  std::vector<float> y(2 * 30'000);
  std::vector<uint32_t> row(30'000);
  for (float& v : y) v = static_cast<float>(random.normal());
  for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<uint32_t>(i / 100);
  std::vector<double> s[2] = {std::vector<double>(row.size()), std::vector<double>(row.size())};
  for (int t = 0; t < 2; ++t) {
    const ThreadLimit limit(t == 0 ? 1 : 2);
    prepare_scores(model, 0, x.view())->score({y.data(), row.size(), 2}, row, s[t]);
  }
  EXPECT_EQ(s[0], s[1]);
}

}  // namespace
}  // namespace selfnorm::test
