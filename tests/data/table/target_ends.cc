#include "data/table/target_ends.h"

#include <gtest/gtest.h>

#include <cmath>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

Frame frame_of_ends(std::vector<double> low, std::vector<double> high) {
  Frame frame;
  frame.file = "ends.csv";
  frame.rows = low.size();
  frame.columns = {{.name = "low", .number = std::move(low)}, {.name = "high", .number = std::move(high)}};
  for (uint64_t i = 0; i < frame.rows; ++i) frame.line.push_back(i + 2);
  return frame;
}

const TargetColumns kInterval{"low", "high", "interval"};

TEST(TargetEnds, MissingEndsAreInfinite) {
  const Frame frame = frame_of_ends({1, NAN, 3, NAN}, {2, 5, NAN, NAN});
  EXPECT_EQ(rows_without_ends(frame, kInterval), (std::vector<uint64_t>{3}));
  const TargetEnds ends = target_ends(frame, kInterval, std::vector<uint64_t>{2, 0, 1});
  EXPECT_EQ(ends.low, (std::vector<double>{3, 1, -INFINITY}));
  EXPECT_EQ(ends.high, (std::vector<double>{INFINITY, 2, 5}));
  EXPECT_EQ(ends.place(0), 3);
  EXPECT_EQ(ends.place(1), 1.5);
  EXPECT_EQ(ends.place(2), 5);
  EXPECT_FALSE(ends.is_number(1));
}

TEST(TargetEnds, CountsAndLevelsAreUnitIntervals) {
  const Frame frame = frame_of_ends({0, 4}, {-1, 2});
  const TargetEnds counts = target_ends(frame, {.name = "low", .kind = "count"}, std::vector<uint64_t>{0, 1});
  EXPECT_EQ(counts.low, (std::vector<double>{-0.5, 3.5}));
  EXPECT_EQ(counts.high, (std::vector<double>{0.5, 4.5}));
  const TargetEnds levels = target_ends(frame, {.name = "high", .kind = "ordinal"}, std::vector<uint64_t>{0});
  EXPECT_EQ(levels.low[0], -1.5);
  EXPECT_TRUE(target_ends(frame, {.name = "low"}, std::vector<uint64_t>{1}).is_number(0));
}

void expect_ends_error(const Frame& frame, const TargetColumns& columns, uint64_t line,
                       const std::string& part) {
  try {
    std::vector<uint64_t> rows;
    for (uint64_t i = 0; i < frame.rows; ++i) rows.push_back(i);
    target_ends(frame, columns, rows);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_EQ(error.line(), line);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(TargetEnds, WhatCannotBeMeantIsNamed) {
  expect_ends_error(frame_of_ends({1, 3}, {2, 2}), kInterval, 3, "low 3 above high 2");
  expect_ends_error(frame_of_ends({1, NAN}, {2, NAN}), kInterval, 3, "neither a lower nor an upper end");
  expect_ends_error(frame_of_ends({1, 1.5}, {2, 2}), {.name = "low", .kind = "count"}, 3, "expected a count");
  expect_ends_error(frame_of_ends({1, -1}, {2, 2}), {.name = "low", .kind = "count"}, 3, "found -1");
  expect_ends_error(frame_of_ends({1, 0.5}, {2, 2}), {.name = "low", .kind = "ordinal"}, 3,
                    "expected a level");
}

}  // namespace
}  // namespace selfnorm
