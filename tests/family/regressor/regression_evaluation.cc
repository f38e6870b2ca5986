#include "family/regressor/regression_evaluation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "math/parallel.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/log_sum_exp.h"
#include "small_regressors.h"

namespace selfnorm::test {
namespace {

constexpr double kLogRoot = 0.91893853320467274;  // log sqrt(2 pi)

double phi(double z) { return std::exp(-z * z / 2 - kLogRoot); }
double cdf(double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; }
double inverse_cdf(double p) {
  double low = -10, high = 10;
  for (int i = 0; i < 80; ++i) ((cdf((low + high) / 2) < p) ? low : high) = (low + high) / 2;
  return (low + high) / 2;
}
// Of the standard normal distribution [Gneiting & Raftery 2007].
double gaussian_crps(double z) { return z * (2 * cdf(z) - 1) + 2 * phi(z) - 1 / std::sqrt(M_PI); }

// x spread over [-1, 1], targets at the quantiles (i + 1/2) / n of linear_gaussian(d).
struct Sample {
  std::vector<float> x;
  std::vector<double> y, z;
  uint32_t d;

  explicit Sample(uint64_t n, uint32_t dimension = 1) : d(dimension) {
    for (uint64_t i = 0; i < n; ++i) {
      const uint64_t shuffled = i * 7919 % n;
      x.push_back(static_cast<float>(2.0 * static_cast<double>(i) / static_cast<double>(n) - 1));
      for (uint32_t j = 0; j < d; ++j) {
        z.push_back(inverse_cdf((static_cast<double>(shuffled) + 0.5) / static_cast<double>(n)));
        y.push_back(10 + 4 * (2 * static_cast<double>(x.back()) + j + 0.5 * z.back()));
      }
    }
  }
  InputRows inputs() const { return {{x.data(), x.size(), 1}, nullptr, 0}; }
  std::span<const double> targets() const { return y; }
};

template <class Term>
double mean_of(const std::vector<double>& z, const Term& term) {
  double sum = 0;
  for (const double v : z) sum += term(v);
  return sum / static_cast<double>(z.size());
}

TEST(RegressionEvaluation, OfALinearGaussianIsItsClosedForm) {
  const Sample sample(997);
  uint64_t done = 0;
  const RegressionEvaluation found = evaluate_regressor(linear_gaussian(), sample.inputs(), sample.targets(),
                                                        {}, [&done](uint64_t rows) { done = rows; });
  EXPECT_EQ(done, 997u);
  EXPECT_EQ(found.rows, 997u);
  EXPECT_EQ(found.outside, 0u);
  const double squares = mean_of(sample.z, [](double z) { return z * z; });
  EXPECT_NEAR(found.nll, std::log(2.0) + kLogRoot + squares / 2, 1e-5);
  const double fourths = mean_of(sample.z, [](double z) { return z * z * z * z; });
  EXPECT_NEAR(found.nll_error, std::sqrt((fourths - squares * squares) / 4 / 996), 1e-5);
  EXPECT_EQ(found.nll_b, found.nll);
  // A mixture alone is normalised.
  EXPECT_EQ(found.log_z.rms, 0);
  EXPECT_EQ(found.quadrature_error, 0);
  EXPECT_TRUE(found.certificate.certified);
  ASSERT_EQ(found.coordinates.size(), 1u);
  const CoordinateEvaluation& line = found.coordinates[0];
  EXPECT_NEAR(line.rmse, 2 * std::sqrt(squares), 1e-3);
  EXPECT_NEAR(line.mae, 2 * mean_of(sample.z, [](double z) { return std::abs(z); }), 1e-3);
  EXPECT_NEAR(line.crps, 2 * mean_of(sample.z, gaussian_crps), 1e-3);
  EXPECT_GT(line.crps_error, 0);
  EXPECT_NEAR(line.pit_deviation, 0.5 / 997, 1e-3);
  ASSERT_EQ(line.pit.size(), 20u);
  for (const uint64_t count : line.pit) EXPECT_NEAR(static_cast<double>(count), 997 / 20.0, 1.5);
  ASSERT_EQ(line.coverage.size(), 4u);
  for (const Coverage& coverage : line.coverage) {
    EXPECT_NEAR(coverage.central, coverage.level, 0.003);
    EXPECT_NEAR(coverage.highest_density, coverage.level, 0.003);
    const double width = 2 * 2 * inverse_cdf(0.5 + coverage.level / 2);
    EXPECT_NEAR(coverage.central_width, width, 4e-3);
    EXPECT_NEAR(coverage.highest_density_width, width, 4e-3);
  }
  for (size_t i = 0; i < 997; ++i) EXPECT_NEAR(found.pit[i], cdf(sample.z[i]), 1e-3);
  EXPECT_EQ(found.a, std::vector<double>(997, 0));
  EXPECT_EQ(found.b, std::vector<double>(997, 0));
}

TEST(RegressionEvaluation, EveryCoordinateOfSeveralHasItsMarginal) {
  const Sample sample(23, 2);
  const RegressionEvaluation found = evaluate_regressor(linear_gaussian(2), sample.inputs(), sample.targets(),
                                                        {.quadrature = {.precision = 1e-3}});
  ASSERT_EQ(found.coordinates.size(), 2u);
  const double squares = mean_of(sample.z, [](double z) { return z * z; });
  EXPECT_NEAR(found.nll, 2 * (std::log(2.0) + kLogRoot) + squares, 1e-5);
  for (const CoordinateEvaluation& line : found.coordinates) {
    EXPECT_NEAR(line.rmse, 2 * std::sqrt(squares), 0.01);
    EXPECT_NEAR(line.crps, 2 * mean_of(sample.z, gaussian_crps), 0.01);
    EXPECT_NEAR(line.pit_deviation, 0.5 / 23, 0.01);
  }
}

// f = 0, so A = 0, and b is a constant.
Regressor with_constant_b(double b, const LinearGaussian& line = {}) {
  Regressor model = linear_gaussian(1, line);
  RegressorNetworks& m = model.members[0];
  m.context = std::make_unique<DenseNetwork>(DenseShape{.inputs = 1, .levels = {}, .widths = {4}}, 1);
  m.tilt = make_conditional_mlp(1, {.widths = {4}}, 2, true);
  m.normalizer = std::make_unique<DenseNetwork>(DenseShape{.inputs = 1, .levels = {}, .widths = {1}}, 3);
  std::fill(m.normalizer->parameters().begin(), m.normalizer->parameters().end(), 0.0f);
  m.normalizer->output_bias()[0] = static_cast<float>(b);
  m.parameters_changed();
  return model;
}

TEST(RegressionEvaluation, TheErrorOfAConstantBIsThatConstant) {
  const Sample sample(150);
  const RegressionEvaluation found = evaluate_regressor(
      with_constant_b(0.25), sample.inputs(), sample.targets(), {.audit = {.eps = 0.2, .worst = 4}});
  EXPECT_NEAR(found.log_z.mean, -0.25, 2e-4);
  EXPECT_NEAR(found.log_z.std, 0, 2e-4);
  EXPECT_NEAR(found.nll_b - found.nll, 0.25, 2e-4);
  EXPECT_EQ(found.certificate.exceed, 150u);
  EXPECT_FALSE(found.certificate.certified);
  EXPECT_EQ(found.worst.size(), 4u);
  EXPECT_LE(found.quadrature_error, 1e-3);
  for (size_t i = 0; i < 150; ++i) {
    EXPECT_NEAR(found.a[i], 0, 2e-4);
    EXPECT_EQ(found.b[i], 0.25);
  }
}

TEST(RegressionEvaluation, WhatMissesThePrecisionIsCountedAndNotCertified) {
  const Sample sample(150);
  const auto found = [&](uint32_t most) {
    return evaluate_regressor(with_constant_b(0), sample.inputs(), sample.targets(),
                              {.quadrature = {.precision = 1e-3, .most_evaluations = most},
                               .audit = {.eps = 1e-2, .rho = 0.1, .confidence = 0.9}});
  };
  EXPECT_EQ(found(0).imprecise, 0u);
  EXPECT_TRUE(found(0).certificate.certified);
  EXPECT_EQ(found(1).imprecise, 150u);
  EXPECT_EQ(found(1).certificate.exceed, 150u);
}

TEST(RegressionEvaluation, ARandomTiltAgreesWithASumOnAGrid) {
  Regressor model = random_regressor({});
  model.mixture.least_scale = 0.05;  // wide against the steps of the grid
  EncodingReport report;
  const EncodedFrame x = model.encoder.encode(small_frame(12), report);
  std::vector<double> y(12);
  RandomStream random(8);
  for (double& v : y) v = 0.1 + random.normal() / 3;
  const RegressionEvaluation found = evaluate_regressor(model, x.view(), y, {});
  const auto scores = prepare_scores(model, 0, x.view());
  constexpr size_t kGrid = 40'000;
  std::vector<float> grid(kGrid);
  for (size_t i = 0; i < kGrid; ++i)
    grid[i] = static_cast<float>(160 * (static_cast<double>(i) + 0.5) / kGrid - 80);
  std::vector<double> s(kGrid), at(1);
  double nll = 0;
  for (uint32_t i = 0; i < 12; ++i) {
    const std::vector<uint32_t> row(kGrid, i);
    scores->score({grid.data(), kGrid, 1}, row, s);
    LogSumExp sum;
    for (const double v : s) sum.add(v);
    const double a = sum.value() + std::log(160.0 / kGrid);
    EXPECT_NEAR(found.a[i], a, 2e-4) << i;
    EXPECT_EQ(found.b[i], scores->normalizer(i));
    std::vector<float> u(1);
    model.standardise(std::span(&y[i], 1), u);
    scores->score({u.data(), 1, 1}, std::vector<uint32_t>{i}, at);
    nll += (a - at[0] + model.log_volume()) / 12;
  }
  EXPECT_NEAR(found.nll, nll, 2e-4);
}

TEST(RegressionEvaluation, EnsemblesAverageDensities) {
  const Sample sample(60);
  Regressor model = with_constant_b(0.2);
  model.members.push_back(std::move(with_constant_b(-0.4, {.slope = 1, .sd = 1}).members[0]));
  const RegressionEvaluation found = evaluate_regressor(model, sample.inputs(), sample.targets(), {});
  double nll = 0, nll_b = 0, squares = 0, largest = 0;
  for (size_t i = 0; i < 60; ++i) {
    const double x = static_cast<double>(sample.x[i]), u = (sample.y[i] - 10) / 4;
    const double first = phi((u - 2 * x) / 0.5) / 0.5, second = phi(u - x);
    const double p = (first + second) / 2, p_b = (first * std::exp(-0.2) + second * std::exp(0.4)) / 2;
    nll -= std::log(p / 4) / 60;
    nll_b -= std::log(p_b / 4) / 60;
    squares += std::pow(4 * (u - 1.5 * x), 2) / 60;
    largest = std::max(largest, std::abs(std::log(p_b / p)));
  }
  EXPECT_NEAR(found.nll, nll, 3e-4);
  EXPECT_NEAR(found.nll_b, nll_b, 3e-4);
  EXPECT_NEAR(found.log_z.mean, nll - nll_b, 3e-4);
  EXPECT_NEAR(std::abs(found.worst[0].error), largest, 3e-4);
  EXPECT_NEAR(found.coordinates[0].rmse, std::sqrt(squares), 2e-3);
}

// Members of one b have that error, however small the density of the target.
TEST(RegressionEvaluation, TheErrorOfAnEnsembleSurvivesSmallDensities) {
  Sample sample(30);
  Regressor model = with_constant_b(0.2);
  model.members.push_back(std::move(with_constant_b(0.2, {.slope = 1, .sd = 1}).members[0]));
  for (double& y : sample.y) y = 1e9;
  const RegressionEvaluation found = evaluate_regressor(model, sample.inputs(), sample.targets(), {});
  EXPECT_GT(found.nll, 1e15);
  EXPECT_NEAR(found.log_z.mean, -0.2, 3e-4);
  EXPECT_NEAR(found.log_z.std, 0, 3e-4);
}

TEST(RegressionEvaluation, TargetsOutsideTheSupportAreCounted) {
  Sample sample(40);
  Regressor model = linear_gaussian();
  model.mixture.lower = {-4};
  model.mixture.upper = {kInfinity};
  sample.y[7] = -100;
  const RegressionEvaluation found = evaluate_regressor(model, sample.inputs(), sample.targets(), {});
  EXPECT_EQ(found.outside, 1u);
  EXPECT_EQ(found.zero_density, 0u);
  EXPECT_EQ(found.nll, kInfinity);
  EXPECT_EQ(found.nll_b, kInfinity);
  EXPECT_TRUE(std::isfinite(found.nll_error));
  EXPECT_EQ(found.pit[7], 0);
  EXPECT_TRUE(std::isfinite(found.coordinates[0].crps));
}

// The same in any units: y = mean + scale u has every number of the tables times the scale.
TEST(RegressionEvaluation, UnitsOfTheDataCostNoDigits) {
  const Sample sample(60);
  const RegressionEvaluation plain =
      evaluate_regressor(with_constant_b(0.25), sample.inputs(), sample.targets(), {});
  for (const auto& [mean, scale] : {std::array{1e9, 1.0}, {0.0, 1e60}, {0.0, 1e-50}, {1e12, 4.0}}) {
    Regressor model = with_constant_b(0.25);
    model.target_mean = {mean};
    model.target_scale = {scale};
    std::vector<double> y;
    for (const double v : sample.y) y.push_back(mean + scale * (v - 10) / 4);
    const RegressionEvaluation found = evaluate_regressor(model, sample.inputs(), y, {});
    const double digits = 1e-6 + 1e-16 * mean / scale;
    EXPECT_NEAR(found.nll - std::log(scale), plain.nll - std::log(4.0), 10 * digits) << mean;
    EXPECT_NEAR(found.nll_b - found.nll, plain.nll_b - plain.nll, digits);
    const CoordinateEvaluation &line = found.coordinates[0], &of = plain.coordinates[0];
    EXPECT_NEAR(line.rmse / scale, of.rmse / 4, digits);
    EXPECT_NEAR(line.mae / scale, of.mae / 4, digits);
    EXPECT_NEAR(line.crps / scale, of.crps / 4, digits);
    EXPECT_NEAR(line.crps_error / scale, of.crps_error / 4, digits);
    EXPECT_NEAR(line.coverage[2].central_width / scale, of.coverage[2].central_width / 4, digits);
    EXPECT_NEAR(line.pit_deviation, of.pit_deviation, 10 * digits);
  }
}

TEST(RegressionEvaluation, AbsurdTargetsHaveDensityZero) {
  for (const double absurd : {1e38, -1e60, 1.7e308}) {
    Sample sample(40);
    Regressor model = random_regressor({.members = 2});
    EncodingReport report;
    const EncodedFrame x = model.encoder.encode(small_frame(40), report);
    sample.y[7] = absurd;
    const RegressionEvaluation found = evaluate_regressor(model, x.view(), sample.y, {});
    EXPECT_EQ(found.outside, 0u);
    EXPECT_EQ(found.zero_density, 1u);
    EXPECT_EQ(found.members, 2u);
    EXPECT_EQ(found.nll, kInfinity);
    EXPECT_EQ(found.nll_b, kInfinity);
    EXPECT_TRUE(std::isfinite(found.nll_error));
    EXPECT_TRUE(std::isfinite(found.log_z.rms));
    EXPECT_EQ(found.pit[7], absurd > 0 ? 1 : 0);
    const CoordinateEvaluation& line = found.coordinates[0];
    for (const double value : {line.rmse, line.mae, line.crps, line.crps_error})
      EXPECT_GT(value, 1e30) << absurd;  // and no NaN
  }
}

TEST(RegressionEvaluation, TheSameForAnyNumberOfThreadsAndOneRowIsEnough) {
  const Sample sample(1200);
  const Regressor model = with_constant_b(0.1);
  double nll[2], crps[2];
  for (int t = 0; t < 2; ++t) {
    const ThreadLimit limit(t == 0 ? 1 : 2);
    const RegressionEvaluation found = evaluate_regressor(model, sample.inputs(), sample.targets(), {});
    nll[t] = found.nll;
    crps[t] = found.coordinates[0].crps;
  }
  EXPECT_EQ(nll[0], nll[1]);
  EXPECT_EQ(crps[0], crps[1]);
  const RegressionEvaluation one =
      evaluate_regressor(model, sample.inputs().slice(0, 1), sample.targets().first(1), {});
  EXPECT_EQ(one.rows, 1u);
  EXPECT_EQ(one.nll_error, 0);
  EXPECT_FALSE(one.certificate.certified);
}

TEST(RegressionEvaluation, RefusesWhatItCannotEvaluate) {
  Sample sample(5);
  const Regressor model = linear_gaussian();
  const auto evaluated = [&](const RegressionEvaluationOptions& options) {
    return evaluate_regressor(model, sample.inputs(), sample.targets(), options);
  };
  EXPECT_THROW(evaluated({.pit_bins = 0}), Error);
  EXPECT_THROW(evaluated({.audit = {.eps = -1}}), Error);
  EXPECT_THROW(evaluated({.quadrature = {.precision = 1}}), Error);
  EXPECT_THROW(evaluate_regressor(model, sample.inputs().slice(0, 0), sample.targets().first(0), {}), Error);
  EXPECT_THROW(evaluate_regressor(model, sample.inputs(), sample.targets().first(4), {}), Error);
  sample.y[3] = NAN;
  EXPECT_THROW(evaluated({}), Error);
}

TEST(RegressionEvaluation, CoverageMoreThanFivePointsOffIsADoubt) {
  RegressionEvaluation e;
  e.rows = 400;
  e.coordinates.resize(2);
  e.coordinates[0].coverage = {{.level = 0.5, .central = 0.54}, {.level = 0.9, .central = 0.85}};
  e.coordinates[1].coverage = {{.level = 0.5, .central = 0.46}, {.level = 0.9, .central = 0.94}};
  EXPECT_EQ(coverage_doubt(e, {"y", "z"}), "");
  e.coordinates[1].coverage[1].central = 0.97;
  const std::string wide = coverage_doubt(e, {"y", "z"});
  EXPECT_EQ(wide.rfind("central 90% intervals of z hold 97.0% of 400 targets (standard error 1.5 points)", 0),
            0u)
      << wide;
  EXPECT_NE(wide.find("too wide"), std::string::npos);
  e.coordinates[0].coverage[0].central = 0.3;
  EXPECT_NE(coverage_doubt(e, {"y", "z"}).find("of y hold 30.0%"), std::string::npos);
  EXPECT_NE(coverage_doubt(e, {"y", "z"}).find("too narrow"), std::string::npos);
  e.rows = 30;  // too few to tell 30% from 50%, or 97% from 90%
  EXPECT_EQ(coverage_doubt(e, {"y", "z"}), "");
}

}  // namespace
}  // namespace selfnorm::test
