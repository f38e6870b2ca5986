// Targets that are intervals, counts, weighted or bounded.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "family/regressor/train/two_branches.h"
#include "normalizer/quadrature/conditional_quadrature.h"
#include "normalizer/quadrature/line_distribution.h"
#include "random_data.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// y = 2 x + 1 + 0.3 e, of which a third is known to be above a place alone, a third to lie in an interval.
TEST(RegressorTargets, CensoredAndIntervalTargetsAreLearnedFrom) {
  Frame frame = two_branches(1500);
  RandomStream random(5);
  FrameColumn high{.name = "high"};
  for (uint64_t i = 0; i < frame.rows; ++i) {
    const double y = 2 * frame.columns[0].number[i] + 1 + 0.3 * random.normal(), place = 1 + random.normal();
    double& low = frame.columns[1].number[i];
    low = y;
    high.number.push_back(y);
    if (i % 3 == 1) {
      low = y > place ? place : NAN;
      high.number[i] = y > place ? NAN : place;
    }
    if (i % 3 == 2) {
      low = std::floor(2 * y) / 2;
      high.number[i] = low + 0.5;
    }
  }
  frame.columns.push_back(high);
  for (const char* objective : {"mdn", "snl"}) {
    RegressorOptions options = quick_regressor(objective);
    options.features = {};
    options.shared_scale = true;
    options.tail_weight = 0;
    options.epochs = 60;
    options.target_high = "high";
    TrainObserver observer;
    const RegressorResult result =
        train_regressor(frame, {"y"}, numbers(0, 1300), numbers(1300, 1500), options, {}, observer);
    EXPECT_EQ(result.model.target_kind, "interval");
    Frame two = frame;
    two.rows = 2;
    two.columns[0].number = {-0.5, 0.5};
    EncodingReport report;
    const EncodedFrame inputs = result.model.encoder.encode(two, report);
    const auto scores = prepare_scores(result.model, 0, inputs.view());
    const std::vector<PredictiveNodes> nodes = conditional_quadrature(*scores);
    for (uint64_t i = 0; i < 2; ++i) {
      const PredictiveNodes* const own = &nodes[i];
      const auto line =
          LineDistribution::of({&own, 1}, 0, 1, result.model.target_mean[0], result.model.target_scale[0]);
      EXPECT_NEAR(line.mean(), i == 0 ? 0 : 2, 0.08) << objective;
      EXPECT_NEAR(line.deviation(), 0.3, 0.05) << objective;
    }
  }
}

// Binomial counts of 4: masses of unit intervals, which sum to 1 over the support.
TEST(RegressorTargets, CountsHaveProbabilities) {
  Frame frame = two_branches(1200);
  RandomStream random(5);
  for (double& y : frame.columns[1].number) {
    y = 0;
    for (int i = 0; i < 4; ++i) y += random.uniform() < 0.4 ? 1 : 0;
  }
  RegressorOptions options = quick_regressor("snl");
  options.components = 4;
  options.target_kind = "count";
  TrainObserver observer;
  const RegressorResult result =
      train_regressor(frame, {"y"}, numbers(0, 1000), numbers(1000, 1200), options, {}, observer);
  double entropy = 0, total = 0;
  const double p[] = {0.1296, 0.3456, 0.3456, 0.1536, 0.0256};
  for (const double share : p) entropy -= share * std::log(share);
  EXPECT_NEAR(result.valid_nll.value(), entropy, 0.12);
  const float x = 0;
  const auto scores = prepare_scores(result.model, 0, {{&x, 1, 1}, nullptr, 0});
  const std::vector<PredictiveNodes> nodes = conditional_quadrature(*scores);
  const PredictiveNodes* const own = &nodes[0];
  const auto line =
      LineDistribution::of({&own, 1}, 0, 1, result.model.target_mean[0], result.model.target_scale[0]);
  for (int k = 0; k < 30; ++k) {
    const double share = std::exp(line.log_mass({k - 0.5, k + 0.5}));
    total += share;
    if (k < 5) {
      EXPECT_NEAR(share, p[k], 0.06) << k;
    }
  }
  EXPECT_NEAR(total, 1, 1e-4);
}

// Rows of weight 0 might as well not be there.
TEST(RegressorTargets, WeightsSayWhichRowsCount) {
  Frame frame = two_branches(1000);
  FrameColumn weight{.name = "weight"};
  for (uint64_t i = 0; i < 1000; ++i) {
    weight.number.push_back(i % 2 == 0 ? 3 : 0);
    if (i % 2 == 1) frame.columns[1].number[i] = 50;
  }
  frame.columns.push_back(weight);
  RegressorOptions options = quick_regressor("snl");
  options.weight = "weight";
  options.components = 2;
  TrainObserver observer;
  const RegressorResult result =
      train_regressor(frame, {"y"}, numbers(0, 900), numbers(900, 1000), options, {}, observer);
  EXPECT_LT(result.valid_nll.value(), 1.2);  // the truth has 0.45; with the other half it would be above 2
  frame.columns[2].number[7] = -1;
  EXPECT_THROW(train_regressor(frame, {"y"}, numbers(0, 900), numbers(900, 1000), options, {}, observer),
               DataError);
}

TEST(RegressorTargets, StaysInItsSupport) {
  Frame frame = two_branches(500);
  for (double& y : frame.columns[1].number) y = std::abs(y);
  RegressorOptions options = quick_regressor("snl");
  options.lower = {0};
  options.epochs = 5;
  TrainObserver observer;
  const RegressorResult result = train_regressor(frame, {"y"}, numbers(0, 500), {}, options, {}, observer);
  ASSERT_EQ(result.model.mixture.lower.size(), 1u);
  EXPECT_NEAR(result.model.mixture.lower[0], -result.model.target_mean[0] / result.model.target_scale[0],
              1e-12);
  options.lower = {0.5};
  EXPECT_THROW(train_regressor(frame, {"y"}, numbers(0, 500), {}, options, {}, observer), DataError);
}

// Whatever the rounding of standardised bounds to float32 is.
TEST(RegressorTargets, TargetsOnTheBoundAreTrainedOn) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Frame frame = two_branches(200, seed);
    for (double& y : frame.columns[1].number) y = std::clamp(y, -0.3, 0.7);
    for (const char* objective : {"snl", "nce+", "mcmc"}) {
      RegressorOptions options = quick_regressor(objective);
      options.lower = {-0.3};
      options.upper = {0.7};
      options.epochs = 1;
      options.noise_floor = seed % 2 == 0 ? 0 : 0.2;
      TrainObserver observer;
      const RegressorResult result =
          train_regressor(frame, {"y"}, numbers(0, 180), numbers(180, 200), options, {}, observer);
      EXPECT_FALSE(result.diverged) << objective << " " << seed;
      EXPECT_TRUE(std::isfinite(result.valid_nll.value())) << objective << " " << seed;
    }
  }
}

}  // namespace
}  // namespace selfnorm
