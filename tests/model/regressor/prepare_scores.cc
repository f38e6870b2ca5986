#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "small_regressors.h"

namespace selfnorm::test {
namespace {

// N(2 x, 0.5) cut to [0, 1].
TEST(PrepareScores, PlacesAreThoseOfTheCutNormals) {
  Regressor model = linear_gaussian();
  model.mixture.lower = {0};
  model.mixture.upper = {1};
  const std::vector<float> x = {0.25f, -0.05f, -5, -50, 10.5f};
  const auto scores = prepare_scores(model, 0, {{x.data(), x.size(), 1}, nullptr, 0});
  const auto place = [&](uint64_t row) { return scores->places(row)[0]; };
  EXPECT_NEAR(place(0).mean[0], 0.5, 1e-6);
  EXPECT_NEAR(place(0).scale[0], 0.5, 1e-6);
  // Nearly inside: the whole normal's scale.
  EXPECT_EQ(place(1).mean[0], 0);
  EXPECT_NEAR(place(1).scale[0], 0.5, 1e-6);
  // 20 and 200 scales outside: some widths scale^2 / distance.
  for (const uint64_t row : {2, 3}) {
    const double width = 0.25 / (row == 2 ? 10 : 100);
    EXPECT_EQ(place(row).mean[0], 0);
    EXPECT_GE(place(row).scale[0], width);
    EXPECT_LE(place(row).scale[0], 4 * width);
  }
  EXPECT_EQ(place(4).mean[0], 1);
  EXPECT_LE(place(4).scale[0], 4 * 0.25 / 20);
}

// One normal alone: p^(1/T) is the normal of sqrt(T) times its scale.
TEST(PrepareScores, ATemperatureWidensNormals) {
  Regressor model = linear_gaussian();
  model.members[0].temperature = 4;
  const std::vector<float> x = {0.25f};
  const auto scores = prepare_scores(model, 0, {{x.data(), 1, 1}, nullptr, 0});
  const float y = 2.5f;
  double s = 0;
  scores->score({&y, 1, 1}, std::vector<uint32_t>{0}, {&s, 1});
  EXPECT_NEAR(s, -0.5 * 4 - 0.5 * std::log(2 * M_PI), 1e-5);  // N(0.5, 1) at 2.5
  EXPECT_NEAR(scores->places(0)[0].scale[0], 1, 1e-6);
}

// The tilt is divided by T.
TEST(PrepareScores, ATemperatureDividesTheTilt) {
  Regressor model = random_regressor({.components = 1});
  model.tail_weight = 0;
  EncodingReport report;
  const EncodedFrame x = model.encoder.encode(small_frame(1), report);
  const float y[] = {0.3f, -0.8f};
  const auto difference = [&](double temperature) {
    model.members[0].temperature = temperature;
    double s[2];
    prepare_scores(model, 0, x.view())->score({y, 2, 1}, std::vector<uint32_t>{0, 0}, s);
    return s[0] - s[1];
  };
  EXPECT_NEAR(difference(2.5), difference(1) / 2.5, 1e-6);
}

TEST(PrepareScores, PlacesWithoutBoundsAreTheComponents) {
  const Regressor model = linear_gaussian();
  const std::vector<float> x = {-50};
  const auto scores = prepare_scores(model, 0, {{x.data(), 1, 1}, nullptr, 0});
  EXPECT_NEAR(scores->places(0)[0].mean[0], -100, 1e-4);
  EXPECT_NEAR(scores->places(0)[0].scale[0], 0.5, 1e-6);
}

}  // namespace
}  // namespace selfnorm::test
