#include "data/points/interval_cells.h"

#include <gtest/gtest.h>

#include <numeric>

#include "data/points/point_source.h"
#include "scratch.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

std::vector<float> numbers_of(const PointSource& points) {
  std::vector<uint64_t> rows(points.rows());
  std::iota(rows.begin(), rows.end(), uint64_t{0});
  std::vector<float> out(rows.size() * points.columns());
  points.read(rows, out);
  return out;
}

std::string opening_error(const std::string& path, const PointOptions& options = {}) {
  try {
    open_points(path, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

void expect_cell(const PointSource& points, uint64_t row, uint32_t column, double low, double high) {
  const auto cells = points.intervals(row);
  ASSERT_EQ(cells.size(), 1u);
  EXPECT_EQ(cells[0].column, column);
  EXPECT_EQ(static_cast<double>(cells[0].low), low);
  EXPECT_EQ(static_cast<double>(cells[0].high), high);
}

TEST(IntervalCells, AreEndsWithANumberInside) {
  const Scratch scratch;
  const auto points =
      open_points(scratch.file("a.csv", "x,y\n1.5,2\n0.5..2.5,4\n\n..-1,\" 1e1 .. 2e1\"\n3..,5..5\n"));
  EXPECT_TRUE(points->has_intervals());
  EXPECT_EQ(numbers_of(*points), (std::vector<float>{1.5f, 2, 1.5f, 4, -1, 15, 3, 5}));
  EXPECT_TRUE(points->intervals(0).empty());
  expect_cell(*points, 1, 0, 0.5, 2.5);
  ASSERT_EQ(points->intervals(2).size(), 2u);
  EXPECT_EQ(points->intervals(2)[0].low, -INFINITY);
  EXPECT_EQ(points->intervals(2)[1].high, 20);
  expect_cell(*points, 3, 0, 3, INFINITY);  // 5..5 is a number
  // A column of nothing else, decimal commas between semicolons, tabs, no header.
  expect_cell(*open_points(scratch.file("b.csv", "x;y\n1,5..2,5;2\n3,5..4,5;4\n")), 1, 0, 3.5, 4.5);
  expect_cell(*open_points(scratch.file("c.tsv", "0..1\t7\n2\t8\n")), 0, 0, 0, 1);
}

TEST(IntervalCells, FollowTheirColumns) {
  const Scratch scratch;
  PointOptions options;
  options.names = {"a", "b"};
  options.drop = {"skip"};
  const auto points = open_points(scratch.file("a.csv", "skip,b,a\n1..2,3..4,5\n6,7,8\n"), options);
  EXPECT_EQ(numbers_of(*points), (std::vector<float>{5, 3.5f, 8, 7}));
  expect_cell(*points, 0, 1, 3, 4);
  const PointSubset part(*points, {1, 0});
  expect_cell(part, 1, 1, 3, 4);
  EXPECT_TRUE(part.has_intervals());
  const JoinedPoints both(open_points(scratch.file("b.csv", "a,b\n1,2\n"), {}),
                          open_points(scratch.file("c.csv", "a,b\n1,2..4\n"), {}));
  expect_cell(both, 1, 1, 2, 4);
  EXPECT_NE(open_points(scratch.file("d.csv", "a,b\n1,2..4\n"))->fingerprint(),
            open_points(scratch.file("e.csv", "a,b\n1,1..5\n"))->fingerprint());
}

TEST(IntervalCells, WordsStayWords) {
  const Scratch scratch;
  PointOptions options;
  options.categorical = {"age"};
  const auto points = open_points(scratch.file("a.csv", "age,x\n20..30,1\n30..40,2\n"), options);
  EXPECT_FALSE(points->has_intervals());
  EXPECT_EQ(points->categories(), (Categories{{"20..30", "30..40"}, {}}));
  PointOptions again;
  again.names = points->names();
  again.known = points->categories();
  EXPECT_EQ(numbers_of(*open_points(scratch.file("b.csv", "x,age\n3,30..40\n"), again)),
            (std::vector<float>{1, 3}));
  const auto mixed = open_points(scratch.file("c.csv", "age,x\n20..30,1\nold,2\n"));
  EXPECT_FALSE(mixed->has_intervals());
  EXPECT_EQ(mixed->categories()[0].size(), 2u);
}

// Names that are numbers or look like intervals: intervals stay in their rows, and tables without any are as
// they were.
TEST(IntervalCells, LeaveTheHeaderAsItIs) {
  const Scratch scratch;
  const auto numbered = open_points(scratch.file("a.csv", "a,2020\n1,2..4\n5,6\n7,8..\n"));
  EXPECT_EQ(numbered->names(), (std::vector<std::string>{"a", "2020"}));
  EXPECT_EQ(numbered->rows(), 3u);
  expect_cell(*numbered, 0, 1, 2, 4);
  EXPECT_TRUE(numbered->intervals(1).empty());
  expect_cell(*numbered, 2, 1, 8, INFINITY);
  const auto bins = open_points(scratch.file("b.csv", "0..5,5..10\n1,6\n2,7\n"));
  EXPECT_EQ(bins->names(), (std::vector<std::string>{"0..5", "5..10"}));
  EXPECT_EQ(bins->rows(), 2u);
  EXPECT_FALSE(bins->has_intervals());
  for (const char* second : {"1,6,3", "1..2,6,3"}) {
    const auto named =
        open_points(scratch.file("c.csv", std::string("0..5,5..10,rest\n") + second + "\n2,7,4\n"));
    EXPECT_EQ(named->names(), (std::vector<std::string>{"0..5", "5..10", "rest"})) << second;
    EXPECT_EQ(named->rows(), 2u) << second;
    EXPECT_TRUE(named->intervals(1).empty());
  }
  // The first row of a table without names may be intervals alone.
  const auto bare = open_points(scratch.file("d.csv", "0..1,2..\n3,4\n5..6,7\n"));
  EXPECT_TRUE(bare->names().empty());
  EXPECT_EQ(bare->rows(), 3u);
  EXPECT_EQ(bare->intervals(0).size(), 2u);
  expect_cell(*bare, 2, 0, 5, 6);
}

TEST(IntervalCells, StandWhereTheirFieldsDo) {
  const Scratch scratch;
  const std::string quoted = opening_error(scratch.file("a.csv", "x,y\n1..2,3\n\"1\"\"..2\",4\n"));
  EXPECT_NE(quoted.find("a.csv:3: in column 'x': found '1\"..2', expected a number or an interval"),
            std::string::npos)
      << quoted;
  const auto commas = open_points(scratch.file("b.csv", "x;y;z\n1;\"1,5e1..2e1\";7\n2;3,5;8..9\n"));
  EXPECT_EQ(numbers_of(*commas), (std::vector<float>{1, 17.5f, 7, 2, 3.5f, 8.5f}));
  expect_cell(*commas, 0, 1, 15, 20);
}

TEST(IntervalCells, AreWiderThanAFloat) {
  const Scratch scratch;
  const std::string narrow = opening_error(scratch.file("a.csv", "x,y\n1,2\n0.1..0.100000001,5\n"));
  EXPECT_NE(
      narrow.find("a.csv:3: in column 'x': found the interval '0.1..0.100000001', whose ends are the same "
                  "32-bit float; give a number or a wider interval"),
      std::string::npos)
      << narrow;
}

TEST(IntervalCells, WhatIsNoneIsNamed) {
  const Scratch scratch;
  const std::string swapped = opening_error(scratch.file("a.csv", "x,y\n1,2\n5..2,3\n"));
  EXPECT_NE(swapped.find("a.csv:3: in column 'x': found the interval '5..2', expected its lower end first"),
            std::string::npos)
      << swapped;
  for (const char* field : {"..", "1..q", "1..2..3", "inf..2"}) {
    const std::string bad =
        opening_error(scratch.file("b.csv", std::string("x,y\n1..2,2\n") + field + ",3\n"));
    EXPECT_NE(bad.find("b.csv:3: in column 'x': found '" + std::string(field) +
                       "', expected a number or an interval: low..high, low.. or ..high"),
              std::string::npos)
        << bad;
  }
}

}  // namespace
}  // namespace selfnorm
