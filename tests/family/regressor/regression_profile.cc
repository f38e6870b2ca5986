#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "family/regressor/regression_pictures.h"
#include "family/regressor/shown_rows.h"

namespace selfnorm::test {
namespace {

TEST(RegressionProfile, OfALineIsItsClosedForm) {
  const LineRows line(300);
  const std::vector<Picture> pictures = feature_pictures(line.shown(), "x");
  ASSERT_EQ(pictures.size(), 3u);
  EXPECT_EQ(pictures[0].name, "heat");
  const Heat& heat = pictures[0].figure.panels[0].heat;
  EXPECT_NEAR(heat.most, std::exp(-0.918938533) / 2, 1e-3);
  for (const auto& cells : pictures[0].data.rows) {
    const double z = (std::get<double>(cells[1]) - 10 - 8 * std::get<double>(cells[0])) / 2;
    EXPECT_NEAR(std::get<double>(cells[2]), std::exp(-z * z / 2 - 0.918938533) / 2, 1e-3);
  }
  EXPECT_EQ(pictures[1].name, "profile");
  for (const auto& cells : pictures[1].data.rows)
    EXPECT_NEAR(std::get<double>(cells[4]), 10 + 8 * std::get<double>(cells[0]), 2e-3);
  EXPECT_EQ(feature_pictures(line.without_targets(), "x").size(), 2u);
}

TEST(RegressionProfile, TheOnlyColumnTells) {
  EXPECT_EQ(telling_feature(LineRows(50).shown()), "x");
  LineRows constant(50);
  for (double& x : constant.frame.columns[0].number) x = 3;
  EXPECT_EQ(telling_feature(constant.shown()), "");
}

// The column that moves the median most is found by moving each.
TEST(RegressionProfile, TheColumnThatMovesTheMedianTells) {
  const Regressor model = random_regressor({.tilted = false});
  const Frame frame = small_frame(60);
  EncodingReport report;
  const EncodedFrame inputs = model.encoder.encode(frame, report);
  const ShownRows rows{model, frame, inputs, {}};
  const std::string found = telling_feature(rows);
  double best = -1;
  std::string expected;
  for (const char* name : {"a", "b"}) {
    double low = HUGE_VAL, high = -HUGE_VAL;
    const std::vector<Picture> pictures = feature_pictures(rows, name);
    for (const auto& cells : pictures.at(1).data.rows) {
      low = std::min(low, std::get<double>(cells[4]));
      high = std::max(high, std::get<double>(cells[4]));
    }
    if (high - low > best) best = high - low, expected = name;
  }
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace selfnorm::test
