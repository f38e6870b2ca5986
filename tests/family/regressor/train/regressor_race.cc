#include "family/regressor/train/regressor_race.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <numbers>

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

// The winner of the race again, from other starts; what is given is trained once and again.
TEST(RegressorRace, EnsemblesRunTheWinnerAgain) {
  RegressorRace race({}, 300, 30, 3);
  ASSERT_EQ(race.heats(), 20u);
  for (uint64_t i = 0; i < 10; ++i) race.finish(i, i < 5 ? 1 : 0.5);
  for (uint64_t i = 10; i < 20; ++i) {
    EXPECT_EQ(race.start(i), i < 15 ? 1u : 2u);
    EXPECT_EQ(race.fold(i), i % 5);
    EXPECT_EQ(race.heat(i).input_noise, 0);
    race.finish(i, -100);  // chooses nothing
  }
  EXPECT_EQ(race.start(9), 0u);
  EXPECT_EQ(race.outcome().input_noise, 0);
  EXPECT_EQ(race.record().size(), 2u);
  RegressorOptions given;
  given.input_noise = 0.5;
  given.features = {10};
  const RegressorRace alone(given, 5000, 500, 3);
  EXPECT_EQ(alone.heats(), 3u);
  EXPECT_FALSE(alone.is_raced());
  EXPECT_TRUE(alone.pools());
  EXPECT_EQ(alone.outcome().input_noise, 0.5);
  EXPECT_FALSE(RegressorRace(given, 40, 4, 3).pools());
}

// Members N(mean_m, T), and the targets of the rows.
PoolPart normal_members(const std::vector<double>& mean, const std::vector<double>& y) {
  PoolPart out{.density = {}, .weight = std::vector<double>(y.size(), 1)};
  for (const double m : mean) {
    std::vector<double>& density = out.density.emplace_back();
    for (const double target : y)
      for (const double t : pool_grid())
        density.push_back(-0.5 * std::log(2 * std::numbers::pi * t) - (target - m) * (target - m) / (2 * t));
  }
  return out;
}

// Quantiles of N(0, sd^2), evenly.
std::vector<double> normal_quantiles(double sd, size_t count) {
  std::vector<double> out;
  for (size_t i = 0; i < count; ++i)
    out.push_back(sd * boost::math::quantile(boost::math::normal(),
                                             (static_cast<double>(i) + 0.5) / static_cast<double>(count)));
  return out;
}

// The variance of the targets is the likeliest temperature of members that agree.
TEST(PoolTemperatures, MembersThatAgreeTakeTheVarianceOfTheTargets) {
  for (const double variance : {0.3, 1.0, 1.5}) {
    const PoolPart part = normal_members({0, 0, 0}, normal_quantiles(std::sqrt(variance), 400));
    const PoolTemperatures found = fit_pool({&part, 1});
    EXPECT_NEAR(std::log(found.middle), std::log(variance), 0.06) << variance;
    EXPECT_DOUBLE_EQ(found.alone, found.middle) << variance;
    EXPECT_EQ(found.spread, 0) << variance;
    EXPECT_NEAR(found.untouched, 0.5 * std::log(2 * std::numbers::pi) + 0.5 * variance, 0.02) << variance;
    EXPECT_EQ(found.rows, 400u);
  }
}

// Means that scatter by 1 around targets that scatter by 1 around their centre: each member alone is right
// with a variance of 2, and the average of them is right with about 1.
TEST(PoolTemperatures, AnAverageIsNarrowedByHowMuchItsMembersDisagree) {
  const PoolPart part = normal_members({-1.2, -0.6, 0, 0.6, 1.2}, normal_quantiles(1, 400));
  const PoolTemperatures found = fit_pool({&part, 1});
  EXPECT_LT(found.middle, 0.6);
  EXPECT_GT(found.alone, 1.5);
  EXPECT_LT(found.nll, found.untouched - 0.01);
}

// Targets of one mixture of scales: its spread is found.
TEST(PoolTemperatures, TargetsOfSeveralScalesAreMet) {
  const PoolTemperatures truth{.middle = 0.5, .spread = 1};
  std::vector<double> y;
  for (uint64_t i = 0; i < 5; ++i)
    for (const double v : normal_quantiles(std::sqrt(truth.of(i, 5)), 200)) y.push_back(v);
  const PoolPart part = normal_members(std::vector<double>(5, 0), y);
  const PoolTemperatures found = fit_pool({&part, 1});
  EXPECT_NEAR(found.spread, 1, 0.3);
  EXPECT_NEAR(std::log(found.middle), std::log(0.5), 0.25);
}

// A handful of rows proves nothing, rows of weight 0 even less; folds count together.
TEST(PoolTemperatures, NeedEvidence) {
  const PoolPart few = normal_members({0, 0}, {-0.7, 0.1, 0.8});
  EXPECT_EQ(fit_pool({&few, 1}).middle, 1);
  PoolPart none = few;
  none.weight = {0, 0, 0};
  EXPECT_EQ(fit_pool({&none, 1}).rows, 0u);
  const std::vector<PoolPart> many(30, few);
  EXPECT_LT(fit_pool(many).middle, 0.6);
}

// Normals of variance T: n rows of variance v have n/2 (log T + v / T) nats, the prior (log T)^2 / (2 0.25),
// so the likeliest log T solves n (1 - v exp(-log T)) / 2 + 4 log T = 0.
TEST(PoolTemperatures, FewRowsAreShrunkTowardsOne) {
  const auto found = [](size_t rows) {
    const PoolPart part = normal_members({0, 0}, normal_quantiles(std::sqrt(3), rows));
    return fit_pool({&part, 1}).middle;
  };
  EXPECT_NEAR(std::log(found(2000)), std::log(3), 0.11);
  EXPECT_NEAR(std::log(found(10)), 0.62, 0.06);  // quantiles of 10 rows have a variance of 2.76
}

// Two rows of weight 1000 among rows of 0.001 tell as much as two rows.
TEST(PoolTemperatures, UnequalWeightsAreFewRows) {
  PoolPart part = normal_members({0, 0}, normal_quantiles(std::sqrt(3), 100));
  EXPECT_GT(fit_pool({&part, 1}).middle, 1.5);
  for (size_t j = 0; j < 100; ++j) part.weight[j] = j == 18 || j == 81 ? 1000 : 0.001;
  const PoolTemperatures found = fit_pool({&part, 1});
  EXPECT_NEAR(found.rows, 2, 0.001);
  EXPECT_EQ(found.middle, 1);
  EXPECT_EQ(effective_rows(0, 0), 0);
  EXPECT_DOUBLE_EQ(effective_rows(3 * 7, 3 * 49), 3);
}

// Of members whose rows have variance v, the NLL at T is (log T + v / T) / 2.
TEST(PoolTemperatures, MembersHaveASayInAWiderOne) {
  const auto of_variance = [](double v) { return [v](double t) { return 0.5 * (std::log(t) + v / t); }; };
  const PoolTemperatures found{.middle = 2, .rows = 400, .alone = 2};
  EXPECT_EQ(settled(found, 400, of_variance(1)).middle, 1);
  EXPECT_EQ(settled(found, 400, of_variance(1)).proposed, 2);
  EXPECT_NEAR(std::log(settled(found, 1000, of_variance(1.5)).middle), std::log(1.5), 0.06);
  EXPECT_EQ(settled(found, 5, of_variance(1.5)).middle, 1);  // no more than chance
  EXPECT_DOUBLE_EQ(settled(found, 1000, of_variance(4)).middle, 2);
  // The average needs half of what mixtures alone did: as much less than the members.
  PoolTemperatures cooler = found;
  cooler.alone = 4;
  EXPECT_NEAR(std::log(settled(cooler, 1000, of_variance(3)).middle), std::log(1.5), 0.06);
  EXPECT_EQ(settled(cooler, 1000, of_variance(1.8)).middle, 1);
  const PoolTemperatures narrow{.middle = 0.5, .rows = 400, .alone = 2};
  EXPECT_EQ(settled(narrow, 1000, of_variance(3)).middle, 0.5);
}

TEST(PoolTemperatures, ALineSaysWhatMembersChangedAndWhereTheEdgeIs) {
  RegressorOptions given;
  const RegressorRace race(given, 500, 50, 3);
  EXPECT_THAT(race.text({.middle = 1, .rows = 400, .proposed = 1.5}),
              testing::HasSubstr("; 1.5 before the members as they are served had a say"));
  EXPECT_THAT(race.text({.middle = std::exp(-1.6), .rows = 400}), testing::HasSubstr("0.2 is the edge"));
  EXPECT_THAT(race.text({.middle = 2, .rows = 400, .proposed = 2}),
              testing::Not(testing::AnyOf(testing::HasSubstr("edge"), testing::HasSubstr("a say"))));
}

TEST(PoolTemperatures, AreSpreadEvenly) {
  const PoolTemperatures found{.middle = 2, .spread = 0.5};
  EXPECT_NEAR(found.of(0, 3), 2 * std::exp(-0.5 * std::sqrt(3) * 2 / 3), 1e-12);
  EXPECT_DOUBLE_EQ(found.of(1, 3), 2);
  EXPECT_DOUBLE_EQ(found.of(0, 3) * found.of(2, 3), 4);
}

}  // namespace
}  // namespace selfnorm
