#include "selfnorm/regressor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <numeric>
#include <random>

#include "family/regressor/predictive.h"
#include "family/regressor/train/regressor_trainer.h"

namespace selfnorm {
namespace {

struct Line {
  std::vector<float> x;
  std::vector<double> y;
};

// y = 2 x + N(0, 1/4), and a column that says nothing.
Line line(uint64_t rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Line out;
  for (uint64_t i = 0; i < rows; ++i) {
    const auto x = static_cast<float>(normal(random));
    out.x.insert(out.x.end(), {x, static_cast<float>(normal(random))});
    out.y.push_back(2 * x + 0.5 * normal(random));
  }
  return out;
}

TEST(ApiRegressor, FindsALineAndItsNoise) {
  const Line train = line(600, 1), test = line(300, 2);
  const EnergyRegressor model =
      EnergyRegressor::train({train.x, 2}, train.y, {{"ensemble", 1}, {"epochs", 30}, {"input-noise", 0}});
  const RegressorQuality found = model.evaluate({test.x, 2}, test.y);
  EXPECT_EQ(found.rows, 300u);
  EXPECT_NEAR(found.nll, 0.5 * std::log(2 * std::numbers::pi * std::numbers::e * 0.25), 0.25);
  EXPECT_NEAR(found.rmse, 0.5, 0.15);
  double nll = 0;
  for (const double log_density : model.log_densities({test.x, 2}, test.y)) nll -= log_density / 300;
  EXPECT_NEAR(found.nll, nll, 1e-3);
  double nll_b = 0;
  for (const double log_density : model.raw_log_densities({test.x, 2}, test.y)) nll_b -= log_density / 300;
  EXPECT_NEAR(found.nll_b, nll_b, 1e-9);
  const std::vector<Predicted> all = model.predict({test.x, 2}, {0.1, 0.9});
  ASSERT_EQ(all.size(), 300u);
  for (const Predicted& one : all) {
    ASSERT_EQ(one.quantiles.size(), 2u);
    EXPECT_LT(one.quantiles[0], one.median);
    EXPECT_LT(one.median, one.quantiles[1]);
  }

  const PredictiveRows rows = model.distributions({test.x, 2});
  const std::vector<double> mean = rows.mean(), median = rows.quantile(std::vector<double>(300, 0.5)),
                            cdf = rows.cdf(median), crps = rows.crps(test.y),
                            log_density = rows.log_density(test.y),
                            exact = model.log_densities({test.x, 2}, test.y), draws = rows.sample(50, 3);
  double score = 0, drawn = 0;
  for (size_t i = 0; i < 300; ++i) {
    EXPECT_NEAR(mean[i], all[i].mean, 1e-9);
    EXPECT_NEAR(median[i], all[i].median, 1e-9);
    EXPECT_NEAR(cdf[i], 0.5, 1e-6);
    EXPECT_NEAR(log_density[i], exact[i], 0.02);
    score += crps[i] / 300;
    for (size_t j = 0; j < 50; ++j) drawn += (draws[50 * i + j] - mean[i]) / 15000;
  }
  EXPECT_NEAR(score, found.crps, 1e-6);
  EXPECT_NEAR(drawn, 0, 0.03);  // 0.5 / sqrt(15000), seven times
  for (const auto& parts : rows.highest_density(0.9)) EXPECT_FALSE(parts.empty());
  EXPECT_EQ(rows.modes().size(), 300u);
  EXPECT_THROW(rows.quantile(std::vector<double>(300, 1.0)), Error);
  EXPECT_THROW(rows.cdf(std::vector<double>(7)), Error);

  const std::string path = testing::TempDir() + "api_regressor.safetensors";
  model.save(path);
  EXPECT_EQ(EnergyRegressor::load(path).raw_log_densities({test.x, 2}, test.y),
            model.raw_log_densities({test.x, 2}, test.y));
}

// Columns of a table are those of Rows by their order, whatever their names.
TEST(ApiRegressor, OpensAModelOfATable) {
  const Line data = line(60, 4);
  Frame frame{.file = "table.csv", .rows = 60};
  frame.columns = {{.name = "x2"}, {.name = "x1"}, {.name = "y", .number = data.y}};
  for (uint64_t i = 0; i < 60; ++i) {
    frame.line.push_back(i + 2);
    for (size_t j = 0; j < 2; ++j) frame.columns[j].number.push_back(data.x[2 * i + j]);
  }
  std::vector<uint64_t> rows(60);
  std::iota(rows.begin(), rows.end(), uint64_t{0});
  RegressorOptions options;
  options.ensemble = 1;
  options.epochs = 2;
  TrainObserver silent;
  const RegressorResult trained = train_regressor(frame, {"y"}, rows, {}, options, {}, silent);
  const std::string path = testing::TempDir() + "api_table.safetensors";
  save_regressor(trained.model, path);
  EncodingReport report;
  const EncodedFrame encoded = trained.model.encoder.encode(frame, report);
  const EnergyRegressor model = EnergyRegressor::load(path);
  EXPECT_EQ(model.raw_log_densities({data.x, 2}, data.y),
            raw_log_density(trained.model, encoded.view(), data.y));
  EXPECT_THROW(model.predict({data.x, 3}), Error);
}

TEST(ApiRegressor, MistakesSayWhatWasExpected) {
  const Line data = line(50, 3);
  EXPECT_THROW(EnergyRegressor::train({data.x, 1}, data.y), Error);
  EXPECT_THROW(EnergyRegressor::train({data.x, 2}, {}), Error);
  EXPECT_THROW(EnergyRegressor::train({data.x, 2}, data.y, {{"epoch", 1}}), Error);
  std::vector<double> bad = data.y;
  bad[7] = INFINITY;
  EXPECT_THROW(EnergyRegressor::train({data.x, 2}, bad), Error);
  const EnergyRegressor model = EnergyRegressor::train({data.x, 2}, data.y, {{"ensemble", 1}, {"epochs", 1}});
  EXPECT_THROW(model.log_densities({data.x, 2}, bad), Error);
  EXPECT_THROW(model.predict({data.x, 4}), Error);
}

}  // namespace
}  // namespace selfnorm
