#include "family/regressor/predictive.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "math/parallel.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/log_sum_exp.h"
#include "small_regressors.h"

namespace selfnorm::test {
namespace {

constexpr double kLogRootTwoPi = 0.91893853320467274;  // log sqrt(2 pi)
const std::vector<float> kX = {-1, 0, 0.25, 3};        // y_j ~ N(10 + 4 (2 x + j), 2)

InputRows line_inputs(const std::vector<float>& x) { return {{x.data(), x.size(), 1}, nullptr, 0}; }

std::vector<Prediction> predictions(const Regressor& model, const InputRows& x, std::span<const double> y,
                                    const PredictionOptions& options = {}) {
  std::vector<Prediction> out;
  predict(model, x, y, options, [&](uint64_t row, Prediction&& p) {
    EXPECT_EQ(row, out.size());
    out.push_back(std::move(p));
  });
  return out;
}

TEST(Predict, LinearGaussianIsItsClosedForm) {
  const std::vector<double> y = {3, 10, NAN, 30};
  PredictionOptions options;
  options.quantiles = {0.05, 0.75};
  options.intervals = {0.5, 0.9};
  options.grid = 101;
  const auto out = predictions(linear_gaussian(), line_inputs(kX), y, options);
  ASSERT_EQ(out.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    const double mean = 10 + 8.0 * kX[i];
    ASSERT_EQ(out[i].coordinates.size(), 1u);
    const CoordinatePrediction& p = out[i].coordinates[0];
    EXPECT_NEAR(p.mean, mean, 1e-4);
    EXPECT_NEAR(p.deviation, 2, 2e-4);
    EXPECT_NEAR(p.median, mean, 1e-4);
    ASSERT_EQ(p.modes.size(), 1u);
    EXPECT_NEAR(p.modes[0], mean, 2e-3);
    EXPECT_NEAR(p.quantiles[0], mean - 2 * 1.6448536, 2e-4);
    EXPECT_NEAR(p.quantiles[1], mean + 2 * 0.6744898, 2e-4);
    EXPECT_NEAR(p.central[0].from, mean - 2 * 0.6744898, 2e-4);
    EXPECT_NEAR(p.central[1].to, mean + 2 * 1.6448536, 2e-4);
    ASSERT_EQ(p.highest_density[1].size(), 1u);
    EXPECT_NEAR(p.highest_density[1][0].from, mean - 2 * 1.6448536, 2e-3);
    ASSERT_EQ(p.grid_y.size(), 101u);
    for (size_t g = 0; g < 101; ++g) {
      const double z = (p.grid_y[g] - mean) / 2;
      EXPECT_NEAR(p.grid_density[g], std::exp(-z * z / 2 - kLogRootTwoPi) / 2, 1e-4);
    }
    EXPECT_LE(out[i].error, 1e-4);
    EXPECT_EQ(out[i].log_normalizer, 0);
    EXPECT_EQ(out[i].log_density.has_value(), i != 2);
    if (i == 2) continue;
    const double z = (y[i] - mean) / 2;
    EXPECT_NEAR(*out[i].log_density, -z * z / 2 - kLogRootTwoPi - std::log(2), 1e-4);
    EXPECT_EQ(*out[i].log_density_raw, *out[i].log_density);
  }
}

TEST(Predict, SamplesHaveTheMomentsOfTheDensity) {
  for (const uint32_t d : {1u, 2u, 3u}) {
    PredictionOptions options;
    options.samples = 4000;
    options.seed = 7;
    options.quadrature.precision = 1e-3;
    const std::vector<float> x = {0.5, -0.5};
    const auto out = predictions(linear_gaussian(d), line_inputs(x), {}, options);
    for (size_t i = 0; i < 2; ++i) {
      ASSERT_EQ(out[i].samples.size(), 4000u * d);
      for (uint32_t j = 0; j < d; ++j) {
        const double mean = 10 + 4 * (2.0 * x[i] + j);
        double sum = 0, square = 0, below = 0, product = 0;
        for (size_t k = 0; k < 4000; ++k) {
          const double z = (out[i].samples[k * d + j] - mean) / 2;
          sum += z;
          square += z * z;
          below += z < 1;
          product += z * (out[i].samples[k * d] - (10 + 8.0 * x[i])) / 2;
        }
        // 4.5 standard errors.
        EXPECT_NEAR(sum / 4000, 0, 4.5 / std::sqrt(4000)) << d << " " << j;
        EXPECT_NEAR(square / 4000, 1, 4.5 * std::sqrt(2.0 / 4000)) << d << " " << j;
        EXPECT_NEAR(below / 4000, 0.841345, 4.5 * std::sqrt(0.1335 / 4000)) << d << " " << j;
        EXPECT_NEAR(product / 4000, j == 0, 4.5 * std::sqrt(2.0 / 4000)) << d << " " << j;
      }
    }
    EXPECT_NE(out[0].samples[0] - 4, out[1].samples[0] + 4);
  }
}

// Correlated mass: the tilt of a random plane regressor. Its samples' distribution functions are uniform.
TEST(Predict, SamplesOfMoreDimensionsFollowTheMarginals) {
  const Regressor model = random_regressor({.dimension = 2, .members = 2});
  EncodingReport report;
  const EncodedFrame x = model.encoder.encode(small_frame(3), report);
  PredictionOptions options;
  options.samples = 4000;
  options.quantiles = {0.1, 0.5, 0.9};
  const auto out = predictions(model, x.view(), {}, options);
  for (const Prediction& p : out)
    for (uint32_t j = 0; j < 2; ++j)
      for (size_t q = 0; q < 3; ++q) {
        const double level = options.quantiles[q];
        double below = 0;
        for (size_t k = 0; k < 4000; ++k) below += p.samples[2 * k + j] < p.coordinates[j].quantiles[q];
        EXPECT_NEAR(below / 4000, level, 4.5 * std::sqrt(level * (1 - level) / 4000));
      }
}

// log mean exp of the members, with A and with b.
TEST(Predict, EnsemblesAverageDensities) {
  const Regressor all = random_regressor({.members = 3});
  EncodingReport report;
  const EncodedFrame x = all.encoder.encode(small_frame(20), report);
  std::vector<double> targets;
  for (int i = 0; i < 20; ++i) targets.push_back((i - 10) / 20.0);
  const auto out = predictions(all, x.view(), targets);
  const std::vector<double> raw = raw_log_density(all, x.view(), targets);
  std::vector<LogSumExp> exact(20), with_b(20);
  std::vector<double> mean(20);
  for (size_t m = 0; m < 3; ++m) {
    Regressor one = random_regressor({.members = 1});
    one.members[0] = all.members[m].copy();
    const auto part = predictions(one, x.view(), targets);
    for (size_t i = 0; i < 20; ++i) {
      exact[i].add(*part[i].log_density);
      with_b[i].add(*part[i].log_density_raw);
      EXPECT_NEAR(*part[i].log_density - *part[i].log_density_raw,
                  part[i].normalizer - part[i].log_normalizer, 1e-9);
      mean[i] += part[i].coordinates[0].mean / 3;
    }
  }
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_NEAR(*out[i].log_density, exact[i].value() - std::log(3), 1e-9);
    EXPECT_NEAR(*out[i].log_density_raw, with_b[i].value() - std::log(3), 1e-9);
    EXPECT_NEAR(raw[i], *out[i].log_density_raw, 1e-9);
    EXPECT_NEAR(out[i].coordinates[0].mean, mean[i], 1e-3 * out[i].coordinates[0].deviation);
  }
}

TEST(Predict, NothingOutsideTheSupport) {
  Regressor model = linear_gaussian();
  model.mixture.lower = {-0.5};  // 8 .. 11 in the units of the data
  model.mixture.upper = {0.25};
  PredictionOptions options;
  options.quantiles = {1e-6, 0.5, 1 - 1e-6};
  options.samples = 200;
  options.grid = 50;
  const std::vector<double> y = {7.9, 8, 11, 11.1};
  const auto out = predictions(model, line_inputs(kX), y, options);
  EXPECT_EQ(*out[0].log_density, -INFINITY);
  EXPECT_TRUE(std::isfinite(*out[1].log_density));
  EXPECT_TRUE(std::isfinite(*out[2].log_density));
  EXPECT_EQ(*out[3].log_density_raw, -INFINITY);
  for (const Prediction& p : out) {
    const CoordinatePrediction& c = p.coordinates[0];
    EXPECT_LE(p.tail, options.quadrature.precision);
    std::vector<double> all = p.samples;
    for (const auto& more : {c.quantiles, c.modes, c.grid_y, {c.mean, c.median}})
      all.insert(all.end(), more.begin(), more.end());
    for (const auto& part : c.highest_density[0]) all.insert(all.end(), {part.from, part.to});
    for (const double v : all) {
      EXPECT_GE(v, 8);
      EXPECT_LE(v, 11);
    }
  }
  EXPECT_EQ(raw_log_density(model, line_inputs(kX), y)[0], -INFINITY);
}

TEST(Predict, AbsurdTargetsHaveDensityZeroAndAnOffsetCostsNoDigits) {
  Regressor model = random_regressor({});
  EncodingReport report;
  const EncodedFrame x = model.encoder.encode(small_frame(4), report);
  const std::vector<double> absurd = {1e38, -1e200, 0.1, 1e12};
  const auto out = predictions(model, x.view(), absurd);
  const std::vector<double> raw = raw_log_density(model, x.view(), absurd);
  for (const size_t i : {0u, 1u, 3u}) {
    EXPECT_EQ(*out[i].log_density, -INFINITY) << i;
    EXPECT_EQ(*out[i].log_density_raw, -INFINITY) << i;
    EXPECT_EQ(raw[i], -INFINITY) << i;
  }
  EXPECT_TRUE(std::isfinite(*out[2].log_density));

  PredictionOptions options;
  options.samples = 2;
  options.grid = 5;
  const auto plain = predictions(model, x.view(), {}, options);
  const double from = model.target_mean[0], scale = model.target_scale[0];
  model.target_mean = {1e9};
  model.target_scale = {1};
  const auto shifted = predictions(model, x.view(), {}, options);
  for (size_t i = 0; i < 4; ++i) {
    const CoordinatePrediction &a = shifted[i].coordinates[0], &b = plain[i].coordinates[0];
    const auto expect = [&](double moved, double at) { EXPECT_NEAR(moved - 1e9, (at - from) / scale, 1e-6); };
    expect(a.mean, b.mean);
    expect(a.median, b.median);
    expect(a.modes[0], b.modes[0]);
    expect(a.quantiles[0], b.quantiles[0]);
    expect(a.central[0].to, b.central[0].to);
    expect(a.highest_density[0][0].from, b.highest_density[0][0].from);
    expect(a.grid_y[3], b.grid_y[3]);
    expect(shifted[i].samples[1], plain[i].samples[1]);
    EXPECT_NEAR(a.deviation, b.deviation / scale, 1e-9);
    EXPECT_NEAR(a.grid_density[2], b.grid_density[2] * scale, 1e-6);
  }
}

TEST(Predict, TheSameForAnyNumberOfThreadsAndAnyBlock) {
  const Regressor model = random_regressor({});
  EncodingReport report;
  const EncodedFrame x = model.encoder.encode(small_frame(1200), report);
  PredictionOptions options;
  options.samples = 2;
  const auto all = predictions(model, x.view(), {}, options);
  ASSERT_EQ(all.size(), 1200u);
  const ThreadLimit one(1);
  const auto again = predictions(model, x.view(), {}, options);
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].samples, again[i].samples);
    EXPECT_EQ(all[i].coordinates[0].quantiles, again[i].coordinates[0].quantiles);
    EXPECT_EQ(all[i].log_normalizer, again[i].log_normalizer);
  }
}

TEST(Predict, BadInput) {
  const Regressor model = linear_gaussian();
  const std::vector<double> y = {1, 2, 3, NAN};
  const auto with = [&](auto change) {
    PredictionOptions options;
    change(options);
    predictions(model, line_inputs(kX), {}, options);
  };
  EXPECT_THROW(with([](auto& o) { o.quantiles = {1}; }), Error);
  EXPECT_THROW(with([](auto& o) { o.intervals = {0}; }), Error);
  EXPECT_THROW(with([](auto& o) { o.grid = 1; }), Error);
  EXPECT_THROW(with([](auto& o) { o.quadrature.precision = 1; }), Error);
  EXPECT_THROW(predictions(model, line_inputs(kX), std::span(y).first(3)), Error);
  EXPECT_THROW(raw_log_density(model, line_inputs(kX), std::span(y).first(2)), Error);
  EXPECT_THROW(raw_log_density(model, line_inputs(kX), y), Error);
  EXPECT_THROW(raw_log_density(model, line_inputs(kX), {}), Error);
  EXPECT_TRUE(predictions(model, line_inputs({}), {}).empty());
  // A damaged model says which row.
  const std::vector<float> damaged = {0, NAN};
  try {
    predictions(model, line_inputs(damaged), {});
    FAIL() << "a NaN input was taken";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("row 1"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace selfnorm::test
