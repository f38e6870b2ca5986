#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "data/example_source.h"
#include "random_data.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

TEST(ExampleSubset, GivesTheExamplesInTheOrderGiven) {
  const Dataset data = random_dataset({.rows = 10, .features = 3, .classes = 4}, 1);
  const auto source = make_example_source(data);
  const ExampleSubset part(*source, {7, 2, 9});
  EXPECT_EQ(part.examples(), 3u);
  EXPECT_EQ(part.columns(), 3u);
  EXPECT_TRUE(part.has_targets());
  const Dataset block = part.block(1, 3);
  EXPECT_EQ(block.target, (std::vector<uint32_t>{data.target[2], data.target[9]}));
  EXPECT_EQ(block.features.dense.row(1)[2], data.features.dense.row(9)[2]);
  const std::vector<uint64_t> wanted = {2, 0};
  EXPECT_EQ(part.gather(wanted).target, (std::vector<uint32_t>{data.target[9], data.target[7]}));
}

TEST(ExampleSubset, OfGroups) {
  const Dataset data = random_groups(6, 2, 2);
  const auto source = make_example_source(data);
  const ExampleSubset part(*source, {5, 1});
  EXPECT_TRUE(part.is_joint());
  const Dataset block = part.block(0, 2);
  ASSERT_EQ(block.group_begin.size(), 3u);
  EXPECT_EQ(block.group_begin[1], data.group_begin[6] - data.group_begin[5]);
}

TEST(RandomSplit, CoversEveryExampleOnce) {
  const auto [kept, held] = random_split(101, 0.2, 7);
  EXPECT_EQ(held.size(), 20u);
  EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
  EXPECT_TRUE(std::is_sorted(held.begin(), held.end()));
  std::set<uint64_t> all(kept.begin(), kept.end());
  all.insert(held.begin(), held.end());
  EXPECT_EQ(all.size(), 101u);
  EXPECT_EQ(*all.rbegin(), 100u);
  EXPECT_EQ(random_split(101, 0.2, 7).second, held);
  EXPECT_NE(random_split(101, 0.2, 8).second, held);
}

TEST(RandomSplit, HoldsOutAtLeastOneAndAtMostHalf) {
  EXPECT_EQ(random_split(2, 0.01, 1).second.size(), 1u);
  EXPECT_EQ(random_split(9, 0.9, 1).second.size(), 4u);
}

TEST(RandomSplit, RefusesWhatCannotBeSplit) {
  EXPECT_THROW(random_split(1, 0.5, 0), Error);
  EXPECT_THROW(random_split(10, 0, 0), Error);
  EXPECT_THROW(random_split(10, 1, 0), Error);
}

}  // namespace
}  // namespace selfnorm
