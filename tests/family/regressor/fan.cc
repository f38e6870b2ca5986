#include <gtest/gtest.h>

#include "family/regressor/regression_pictures.h"

namespace selfnorm {
namespace {

TEST(Fan, BandsLieBetweenQuantilesThatBelongTogether) {
  const Fan fan{.x = {0, 1}, .quantiles = {{1, 2, 3, 4, 5, 6, 7}, {2, 3, 4, 5, 6, 7, 8}}};
  const Panel panel = fan_panel(fan, "x", "y");
  ASSERT_EQ(panel.series.size(), 4u);
  EXPECT_EQ(panel.series[0].name, "95% of the mass");
  EXPECT_EQ(panel.series[0].x, (std::vector<double>{0, 1, 1, 0}));
  EXPECT_EQ(panel.series[0].y, (std::vector<double>{1, 2, 8, 7}));
  EXPECT_EQ(panel.series[2].y, (std::vector<double>{3, 4, 6, 5}));
  EXPECT_EQ(panel.series[3].name, "median");
  EXPECT_EQ(panel.series[3].y, (std::vector<double>{4, 5}));
}

TEST(Fan, TargetsAreDrawnWhereThereAreSome) {
  const Panel panel =
      fan_panel({.x = {0}, .quantiles = {{1, 2, 3, 4, 5, 6, 7}}, .target_x = {0}, .target_y = {9}}, "x", "y");
  EXPECT_EQ(panel.series.back().name, "targets");
  EXPECT_EQ(panel.series.back().y, std::vector<double>{9});
}

}  // namespace
}  // namespace selfnorm
