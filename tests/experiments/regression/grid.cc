#include "experiments/regression/grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "small_regressors.h"

namespace selfnorm {
namespace {

// y|x ~ N(slope u, sd), u = x / 1.5 up to the ends of the grid it was learned from.
Regressor line_regressor(double slope, double sd) {
  Regressor model = test::linear_gaussian(1, {.slope = slope, .sd = sd});
  model.target_mean = {0};
  model.target_scale = {1};
  const Frame frame = column_frame("x", {-3, 3, 64});
  std::vector<uint64_t> rows(frame.rows);
  for (uint64_t i = 0; i < rows.size(); ++i) rows[i] = i;
  std::vector<std::string> notes;
  model.encoder = FrameEncoder(frame, rows, {}, true, notes);
  return model;
}

EncodedFrame inputs(const Regressor& model, const LineGrid& x) {
  EncodingReport report;
  return model.encoder.encode(column_frame("x", x), report);
}

double log_normal(double y, double sd) {
  return -y * y / (2 * sd * sd) - std::log(sd) - std::log(2 * std::numbers::pi) / 2;
}

// KL = -H + log(sd sqrt(2 pi)) + E y^2 / (2 sd^2), with the mean conditional entropy H of theory.md 4 and
//   E y^2 = 1/2 (1/2 - sin 6 / 12 + .075^2) + 1/2 (e^{1/8} - 2 e^{1/32} + 1).
TEST(RegressionGrid, DivergenceOfAGaussianIsItsClosedForm) {
  const double sd = 0.6, entropy = -0.3266;
  const double second =
      0.5 * (0.5 - std::sin(6.0) / 12 + 0.075 * 0.075) + 0.5 * (std::exp(0.125) - 2 * std::exp(0.03125) + 1);
  const double expected = -entropy - log_normal(0, sd) + second / (2 * sd * sd);
  const GridDivergence kl =
      grid_divergence(line_regressor(0, sd), *make_regression_task("task1"), {-3, 3, 600}, {-3, 3, 1000});
  EXPECT_NEAR(kl.whole, expected, 1e-3);
  EXPECT_NEAR(kl.on_grid, kl.whole, 1e-4);  // nearly all of it is on the grid
}

TEST(RegressionGrid, MassBeyondTheGridCountsAgainstTheModel) {
  const GridDivergence kl =
      grid_divergence(line_regressor(0, 3), *make_regression_task("task1"), {-3, 3, 50}, {-3, 3, 1000});
  EXPECT_NEAR(kl.on_grid - kl.whole, std::log(std::erf(1 / std::numbers::sqrt2)), 1e-4);
}

TEST(RegressionGrid, DensitiesOfMembersAreAveragedInTheUnitsOfTheData) {
  Regressor model = line_regressor(0, 0.5);
  model.members.push_back(test::linear_gaussian_networks(1, {.slope = 0, .sd = 1.5}));
  model.target_mean = {10};
  model.target_scale = {4};
  const LineGrid x{-3, 3, 40}, y{-30, 50, 101};  // more rows than a block has
  uint64_t next = 0;
  grid_log_density(model, inputs(model, x).view(), y, [&](uint64_t i, std::span<const double> log_p) {
    EXPECT_EQ(i, next++);
    ASSERT_EQ(log_p.size(), y.points);
    for (size_t j = 0; j < y.points; ++j) {
      const double u = (y.at(j) - 10) / 4;
      const double mean = (std::exp(log_normal(u, 0.5)) + std::exp(log_normal(u, 1.5))) / 2 / 4;
      EXPECT_NEAR(std::exp(log_p[j]), mean, 1e-5 * (1 + mean));
    }
    EXPECT_NEAR(log_grid_mass(log_p, y), 0, 1e-4);
  });
  EXPECT_EQ(next, x.points);
  EXPECT_NEAR(mean_log_grid_mass(model, inputs(model, x).view(), y), 0, 1e-4);
}

// A tilt has no closed form: its density on a fine and wide grid has mass 1.
TEST(RegressionGrid, TiltedDensitiesHaveMassOne) {
  const Regressor model = test::random_regressor({.members = 2});
  EncodingReport report;
  const EncodedFrame x = model.encoder.encode(test::small_frame(5), report);
  EXPECT_NEAR(mean_log_grid_mass(model, x.view(), {-20, 20, 100'000}), 0, 1e-4);
}

TEST(RegressionGrid, PicturesFollowTheDensity) {
  const LineGrid x{-3, 3, 20}, y{-4, 4, 30};
  const std::vector<double> picture = density_picture(line_regressor(1.5, 0.5), x, y);
  ASSERT_EQ(picture.size(), x.points * y.points);
  size_t last = 0;
  for (size_t i = 0; i < x.points; ++i) {
    size_t best = 0;
    for (size_t j = 0; j < y.points; ++j)
      if (picture[j * x.points + i] > picture[best * x.points + i]) best = j;
    EXPECT_GE(best, last);
    last = best;
  }
  EXPECT_GT(last, y.points / 2);
  const std::vector<double> truth = density_picture(*make_regression_task("task1"), x, y);
  EXPECT_EQ(*std::max_element(truth.begin(), truth.end()), 1);
  EXPECT_EQ(*std::min_element(truth.begin(), truth.end()), 0);
}

}  // namespace
}  // namespace selfnorm
