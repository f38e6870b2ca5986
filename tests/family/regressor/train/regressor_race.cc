#include "family/regressor/train/regressor_race.h"

#include <gtest/gtest.h>

#include <cmath>

namespace selfnorm {
namespace {

using Widths = std::vector<uint32_t>;

// Noise 0.02 and 0 with the widths of the rows, then twice these with the better noise.
RegressorOptions outcome_of(double with_noise, double without, double wider) {
  RegressorRace race({}, 5000, 500);
  EXPECT_EQ(race.heats(), 3u);
  race.finish(0, with_noise);
  race.finish(1, without);
  EXPECT_EQ(race.heat(2).input_noise, without < with_noise ? 0 : 0.02);
  EXPECT_EQ(race.heat(2).features, (Widths{128, 128}));
  race.finish(2, wider);
  return race.outcome();
}

TEST(RegressorRace, TheSmallestLikelihoodWins) {
  EXPECT_EQ(outcome_of(1, 0.9, 0.8).input_noise, 0);
  EXPECT_EQ(outcome_of(1, 0.9, 0.8).features, (Widths{128, 128}));
  EXPECT_EQ(outcome_of(0.9, 1, 0.95).input_noise, 0.02);
  EXPECT_EQ(outcome_of(0.9, 1, 0.95).features, (Widths{64, 64}));
  EXPECT_EQ(outcome_of(0.9, 1, 0.9 - 0.5 * RegressorRace::kWiderGain).features, (Widths{64, 64}));
  EXPECT_EQ(outcome_of(INFINITY, 1, INFINITY).input_noise, 0);
}

TEST(RegressorRace, HeatsAreShortMixtures) {
  RegressorOptions given;
  given.epochs = 10;
  given.own_features = true;
  const RegressorRace race(given, 5000, 500);
  EXPECT_EQ(race.heat(0).objective, "mdn");
  EXPECT_EQ(race.heat(0).epochs, 5u);
  race.heat(0).validate();
  EXPECT_EQ(race.outcome().objective, "snl");
}

// Every heat on each of five parts of the training rows.
TEST(RegressorRace, FewHeldOutRowsRaceOnFolds) {
  RegressorRace race({}, 300, 30);
  ASSERT_EQ(race.heats(), 10u);
  EXPECT_EQ(race.folds(), 5u);
  const double mean[] = {1, 0.9};
  for (uint64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(race.fold(i), i % 5);
    race.finish(i, mean[i / 5] + 0.5 * (static_cast<double>(i % 5) - 2));
  }
  EXPECT_EQ(race.heat(5).input_noise, 0);
  EXPECT_EQ(race.outcome().input_noise, 0);
  EXPECT_EQ(race.outcome().features, (Widths{64, 64}));
}

TEST(RegressorRace, WhatIsGivenDoesNotRace) {
  RegressorOptions given;
  EXPECT_EQ(RegressorRace(given, 40, 4).heats(), 0u);
  EXPECT_EQ(RegressorRace(given, 40, 4).outcome().input_noise, 0.02);
  given.features = {10};
  EXPECT_EQ(RegressorRace(given, 5000, 500).heats(), 2u);
  given.input_noise = 0.5;
  given.features = {0};
  EXPECT_EQ(RegressorRace(given, 300, 30).heats(), 0u);
  given.features = {10};
  EXPECT_EQ(RegressorRace(given, 5000, 500).heats(), 0u);
  EXPECT_EQ(RegressorRace(given, 5000, 500).outcome().input_noise, 0.5);
  given.features = {0};
  EXPECT_EQ(RegressorRace(given, 5000, 500).heats(), 2u);
  given.module = "features.pt";
  EXPECT_EQ(RegressorRace(given, 5000, 500).heats(), 0u);
}

TEST(RegressorRace, SaysAndRecordsWhatItDid) {
  RegressorOptions given;
  given.features = {10, 12};
  RegressorRace race(given, 5000, 500);
  race.finish(0, 1.5);
  race.finish(1, INFINITY);
  EXPECT_EQ(race.text(),
            "chosen on held-out rows: input noise 0.02, features 10,12 (NLL of mixtures: noise 0.02 features "
            "10,12: "
            "1.5000; noise 0 features 10,12: inf)");
  EXPECT_EQ(
      race.record().dump(),
      R"([{"input_noise":0.02,"features":[10,12],"valid_nll":1.5},{"input_noise":0.0,"features":[10,12],"valid_nll":null}])");
}

}  // namespace
}  // namespace selfnorm
