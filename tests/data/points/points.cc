#include "data/points/points.h"

#include <gtest/gtest.h>

#include <cmath>

namespace selfnorm {
namespace {

bool holds(const Support& support, const std::vector<float>& x) { return contains(support, x); }

TEST(Points, RowsAndSlices) {
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  const Points x{values.data(), 3, 2};
  EXPECT_EQ(x.size(), 6u);
  EXPECT_EQ(x.row(1)[0], 3);
  const Points tail = x.slice(1, 3);
  EXPECT_EQ(tail.rows, 2u);
  EXPECT_EQ(tail.row(1)[1], 6);
}

TEST(Support, RealNumbersAndBoxes) {
  EXPECT_TRUE(holds(Support::reals(), {-1e30f, 5}));
  EXPECT_FALSE(holds(Support::reals(), {0, INFINITY}));
  EXPECT_FALSE(holds(Support::reals(), {std::nanf("")}));
  const Support box = Support::box({0, -1}, {1, INFINITY});
  EXPECT_TRUE(holds(box, {0, 1e30f}));
  EXPECT_TRUE(holds(box, {1, -1}));
  EXPECT_FALSE(holds(box, {1.001f, 0}));
  EXPECT_FALSE(holds(box, {0.5, -1.001f}));
}

TEST(Support, LevelsAndCounts) {
  EXPECT_FALSE(Support::binary(2).is_real());
  EXPECT_TRUE(holds(Support::binary(2), {0, 1}));
  for (const std::vector<float>& x : {std::vector<float>{0, 2}, {0.5, 0}, {-1, 0}, {0, std::nanf("")}})
    EXPECT_FALSE(holds(Support::binary(2), x));
  Support counts;
  counts.space = Support::Space::counts;
  EXPECT_TRUE(holds(counts, {0, 1e6f}));
  EXPECT_FALSE(holds(counts, {1.5}));
  EXPECT_FALSE(holds(counts, {-1}));
}

TEST(Support, MixedHoldsNumbersBesideLevels) {
  const Support mixed = Support::mixed({0, 3, 0}, {false, false, true});
  EXPECT_TRUE(mixed.is_mixed());
  EXPECT_FALSE(mixed.is_real());
  EXPECT_FALSE(mixed.has_chains());
  EXPECT_TRUE(holds(mixed, {-7.5f, 2, 3}));
  EXPECT_FALSE(holds(mixed, {0, 3, 0}));     // no such level
  EXPECT_FALSE(holds(mixed, {0, 0.5f, 0}));  // no level
  EXPECT_FALSE(holds(mixed, {0, 1, 3.5f}));  // beyond half a turn
  // All of one kind is that kind.
  EXPECT_EQ(Support::mixed({2, 3}, {false, false}).space, Support::Space::levels);
  EXPECT_TRUE(Support::mixed({0, 0}, {false, false}).lower.empty());
  EXPECT_EQ(Support::mixed({0, 0}, {true, false}).wraps, (std::vector<bool>{true, false}));
}

}  // namespace
}  // namespace selfnorm
