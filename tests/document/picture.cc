#include "document/picture.h"

#include <gtest/gtest.h>

#include <cmath>

namespace selfnorm {
namespace {

TEST(Picture, RowsAreSpreadEvenly) {
  EXPECT_EQ(spread_rows(3, 5), (std::vector<uint64_t>{0, 1, 2}));
  EXPECT_EQ(spread_rows(10, 4), (std::vector<uint64_t>{0, 2, 5, 7}));
  EXPECT_TRUE(spread_rows(0, 5).empty());
}

TEST(Picture, NumbersAreShort) {
  EXPECT_EQ(shortened(0.123456), 0.12346);
  EXPECT_EQ(shortened(-1234567), -1234600);
  EXPECT_EQ(shortened(1e-310), 1e-310);
  EXPECT_EQ(shortened(5e-324), 5e-324);
  EXPECT_TRUE(std::isnan(shortened(NAN)));
  EXPECT_EQ(shortened(-INFINITY), -INFINITY);
}

TEST(Picture, SharesOfWhatIsThere) {
  const std::vector<double> sorted = sorted_numbers({3, NAN, 1, 2, NAN, 5, 4});
  EXPECT_EQ(sorted, (std::vector<double>{1, 2, 3, 4, 5}));
  EXPECT_EQ(at_share(sorted, 0), 1);
  EXPECT_EQ(at_share(sorted, 0.5), 3);
  EXPECT_EQ(at_share(sorted, 1), 5);
}

TEST(Picture, ItsNameIsTheId) {
  const ReportFigure figure =
      shown({.name = "pit", .look = "level is good", .figure = {.title = "t", .panels = {}}});
  EXPECT_EQ(figure.id, "pit");
  EXPECT_EQ(figure.look, "level is good");
  EXPECT_EQ(figure.figure.title, "t");
}

}  // namespace
}  // namespace selfnorm
