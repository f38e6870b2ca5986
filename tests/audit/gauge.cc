#include "audit/gauge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "audit/iterative_least_squares.h"
#include "normalizer/class_moments.h"
#include "normalizer/output_stream.h"
#include "random_head.h"

namespace selfnorm {
namespace {

double variance(const std::vector<double>& v) {
  double mean = 0, square = 0;
  for (const double x : v) mean += x / static_cast<double>(v.size());
  for (const double x : v) square += (x - mean) * (x - mean) / static_cast<double>(v.size());
  return square;
}

LinearFit gauge_of(const ModelFile& model, const ExampleSource& source) {
  GaugeRegression regression(source, model.features);
  OutputStream(model, source).run([&](const OutputBlock& block) {
    std::vector<double> log_z;
    for (const OutputRow& row : block.rows) log_z.push_back(row.moments.log_z());
    regression.add(block.data, log_z);
  });
  return regression.fit();
}

// theory.md 1.5: the same distribution, with V* left of the variance.
TEST(Gauge, KeepsProbabilitiesAndLeavesTheResidualVariance) {
  ModelFile model = random_head(7, 4, 1);
  model.log_normalizer = 0.5;
  const Dataset data = random_dataset({.rows = 5000, .features = 4, .classes = 7}, 2);
  const auto source = make_example_source(data);
  const LinearFit fit = gauge_of(model, *source);
  EXPECT_NEAR(fit.variance, variance(log_normalizers(model, *source)), 1e-5);
  EXPECT_GT(fit.variance, fit.residual_variance);

  ModelFile normalised = model;
  apply_gauge(fit, normalised);
  EXPECT_EQ(normalised.log_normalizer, 0);
  const std::vector<double> after = log_normalizers(normalised, *source);
  EXPECT_NEAR(variance(after), fit.residual_variance, 1e-5);
  double mean = 0;
  for (const double a : after) mean += a / static_cast<double>(after.size());
  EXPECT_NEAR(mean, 0, 1e-5);
  const auto p = make_class_scores(model, false), q = make_class_scores(normalised, false);
  EXPECT_LT(head_difference(*p, *q, data.features).probability, 1e-5);
}

TEST(Gauge, NoOtherSharedDirectionDoesBetter) {
  const ModelFile model = random_head(3, 3, 3);
  const auto source = make_example_source(random_dataset({.rows = 500, .features = 3, .classes = 3}, 4));
  const LinearFit fit = gauge_of(model, *source);
  RandomStream random(5);
  for (int trial = 0; trial < 50; ++trial) {
    LinearFit other = fit;
    for (double& v : other.slope) v += 0.1 * random.normal();
    ModelFile moved = model;
    apply_gauge(other, moved);
    EXPECT_GT(variance(log_normalizers(moved, *source)), fit.residual_variance);
  }
}

// Feature 0 is the same for all alternatives of a group, the others are not.
TEST(Gauge, OfAlternativesUsesOnlyWhatTheyShare) {
  Dataset data = random_groups(400, 3, 6);
  RandomStream random(7);
  for (uint64_t g = 0; g < 400; ++g) {
    const float shared = static_cast<float>(random.normal());
    for (uint64_t a = data.group_begin[g]; a < data.group_begin[g + 1]; ++a)
      data.features.dense.values[a * 3] = shared;
  }
  const ModelFile model = joint_model({2, 1, -1});
  const auto source = make_example_source(data);
  const LinearFit fit = gauge_of(model, *source);
  EXPECT_NEAR(fit.slope[0], 2, 0.2);
  EXPECT_NEAR(fit.slope[1], 0, 1e-9);
  EXPECT_NEAR(fit.slope[2], 0, 1e-9);
  ModelFile normalised = model;
  apply_gauge(fit, normalised);
  const std::vector<double> after = log_normalizers(normalised, *source);
  EXPECT_NEAR(variance(after), fit.residual_variance, 1e-5);
  double mean = 0;
  for (const double a : after) mean += a / 400;
  EXPECT_NEAR(mean, normalised.log_normalizer, 1e-5);
}

TEST(Gauge, OfAlternativesThatShareNothingIsAConstant) {
  const ModelFile model = joint_model({2, 1, -1});
  const auto source = make_example_source(random_groups(300, 3, 8));
  const LinearFit fit = gauge_of(model, *source);
  EXPECT_EQ(fit.residual_variance, fit.variance);
  for (const double v : fit.slope) EXPECT_EQ(v, 0);
}

TEST(IterativeLeastSquares, AgreesWithTheMoments) {
  Dataset data =
      random_dataset({.rows = 400, .features = 30, .classes = 3, .sparse = true, .density = 0.3}, 9);
  const std::vector<double> y = random_vector<double>(400, 10);
  LeastSquares moments(30);
  moments.add(data.features, y);
  const LinearFit expected = moments.fit();
  const auto source = make_example_source(std::move(data));
  const LinearFit fit = iterative_fit(*source, y);
  EXPECT_NEAR(fit.residual_variance, expected.residual_variance, 1e-9);
  EXPECT_NEAR(fit.variance, expected.variance, 1e-9);
  EXPECT_NEAR(fit.intercept, expected.intercept, 1e-6);
  for (size_t j = 0; j < 30; ++j) EXPECT_NEAR(fit.slope[j], expected.slope[j], 1e-6);
}

TEST(IterativeLeastSquares, ForPredictionDoesNotInterpolateNoise) {
  const auto source = make_example_source(
      random_dataset({.rows = 200, .features = 400, .classes = 3, .sparse = true, .density = 0.2}, 11));
  const std::vector<double> y = random_vector<double>(200, 12);
  EXPECT_LT(iterative_fit(*source, y).residual_variance, 1e-6);
  EXPECT_GT(iterative_fit_for_prediction(*source, y).residual_variance, 0.2);
}

TEST(IterativeLeastSquares, ConstantColumnsAndConstantY) {
  Dataset data = random_dataset({.rows = 50, .features = 3, .classes = 2}, 13);
  for (uint64_t i = 0; i < 50; ++i) data.features.dense.values[i * 3 + 1] = 4;
  const auto source = make_example_source(std::move(data));
  const LinearFit fit = iterative_fit(*source, std::vector<double>(50, 2));
  EXPECT_NEAR(fit.intercept, 2, 1e-12);
  for (const double v : fit.slope) EXPECT_NEAR(v, 0, 1e-12);
}

// Beyond 2,048 columns and with less than ten rows a column the rows are read again and again instead.
TEST(Gauge, ThousandsOfColumnsWithFewRowsNeedNoSpectrum) {
  const uint64_t rows = 3000, columns = 2100;
  Dataset data;
  data.features.is_sparse = false;
  data.features.dense = {rows + 500, columns, std::vector<float>((rows + 500) * columns)};
  RandomStream random(1);
  for (float& v : data.features.dense.values) v = static_cast<float>(random.normal());
  const auto plane = [&](uint64_t i) {
    const std::span<const float> x = data.features.dense.row(i);
    return 3 + 2 * static_cast<double>(x[0]) - static_cast<double>(x[1]) + 0.5 * static_cast<double>(x[2099]);
  };
  std::vector<double> log_z;
  std::vector<uint64_t> kept(rows);
  std::iota(kept.begin(), kept.end(), 0);
  for (const uint64_t i : kept) log_z.push_back(plane(i));
  data.target.assign(rows + 500, Dataset::kNoTarget);
  const auto source = make_example_source(data);
  const ExampleSubset part(*source, kept);
  GaugeRegression regression(part, columns);
  regression.add(part.block(0, rows), log_z);
  const LinearFit fit = regression.fit(), careful = regression.fit_for_prediction();
  EXPECT_LT(fit.residual_variance, 1e-6 * fit.variance);
  for (uint64_t i = rows; i < rows + 500; ++i) {
    EXPECT_NEAR(fit(data.features, i), plane(i), 1e-3);
    EXPECT_NEAR(careful(data.features, i), plane(i), 0.1);
  }
}

}  // namespace
}  // namespace selfnorm
