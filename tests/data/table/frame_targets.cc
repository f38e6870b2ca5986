#include <gtest/gtest.h>

#include <cmath>

#include "data/table/frame.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

using Rows = std::vector<uint64_t>;
using Doubles = std::vector<double>;

Frame example() {
  Frame frame{.file = "a.csv", .rows = 4, .columns = {}, .line = {2, 3, 5, 6}};
  frame.columns.push_back({.name = "y", .number = {1, NAN, 3, 4}});
  frame.columns.push_back({.name = "z", .number = {10, 20, 30, NAN}});
  frame.columns.push_back(
      {.name = "g", .is_numeric = false, .level = {0, kMissingLevel, 1, 0}, .levels = {"7", "b"}});
  return frame;
}

std::string error_of(const Frame& frame, const std::vector<std::string>& names, const Rows& rows) {
  try {
    numeric_targets(frame, names, rows);
  } catch (const DataError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(FrameTargets, RowsAndValues) {
  const Frame frame = example();
  EXPECT_EQ(rows_without_targets(frame, {"y", "z"}), (Rows{1, 3}));
  EXPECT_EQ(rows_with_targets(frame, {"y", "z"}), (Rows{0, 2}));
  EXPECT_EQ(rows_without_targets(frame, {"g"}), (Rows{1}));
  EXPECT_EQ(numeric_targets(frame, {"z", "y"}, Rows{2, 0}), (Doubles{30, 3, 10, 1}));
}

TEST(FrameTargets, Mistakes) {
  Frame frame = example();
  EXPECT_EQ(
      error_of(frame, {"y"}, {0, 1}),
      "a.csv:3: in the target column 'y': found a missing value, expected a number; leave such rows out");
  EXPECT_EQ(error_of(frame, {"g"}, {0}),
            "a.csv:5: in the target column 'g': found 'b', expected a number; words are labels, which a "
            "classifier predicts");
  EXPECT_EQ(error_of(frame, {"q"}, {0}), "a.csv: found no target column 'q'; the columns are 'y', 'z', 'g'");
  EXPECT_EQ(error_of(frame, {"y", "y"}, {0}), "a.csv: the target column 'y' is named twice");
  EXPECT_THROW(rows_without_targets(frame, {"q"}), DataError);
  frame.columns[2].level = {0, 0, 0, 0};
  EXPECT_NE(error_of(frame, {"g"}, {0}).find("was read as categorical"), std::string::npos);
}

TEST(FrameTargets, Distinct) {
  const Doubles values = {1, 0, 2, 0, 2, 0, 1, 5, 3, 0};
  const TargetDistinct first = target_distinct(values, 2, 0);
  EXPECT_EQ(first.distinct, 3u);
  EXPECT_EQ(first.most_frequent, 1);
  EXPECT_DOUBLE_EQ(first.share, 0.4);
  const TargetDistinct second = target_distinct(values, 2, 1);
  EXPECT_EQ(second.distinct, 2u);
  EXPECT_DOUBLE_EQ(second.share, 0.8);
  EXPECT_EQ(target_distinct(Doubles{7}, 1, 0).distinct, 1u);
  EXPECT_THROW(target_distinct({}, 1, 0), Bug);
}

}  // namespace
}  // namespace selfnorm
