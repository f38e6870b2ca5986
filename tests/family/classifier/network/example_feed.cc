#include "family/classifier/network/example_feed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "random_data.h"

namespace selfnorm {
namespace {

Dataset data_with_weights() {
  Dataset data = random_dataset({.rows = 30, .features = 6, .classes = 4, .sparse = true}, 7);
  data.labels.push_back("never");
  data.weight = random_vector<float>(30, 8);
  for (float& w : data.weight) w = std::abs(w);
  return data;
}

TEST(ExampleFeed, GathersTheRowsListed) {
  const Dataset data = data_with_weights();
  const BagFeed feed(data);
  EXPECT_EQ(feed.examples(), 30u);
  const std::vector<uint64_t> list{4, 29, 4, 0};
  ExampleBatch batch;
  batch.target = {9, 9};  // replaced
  feed.gather(list, batch);
  TokenRows expected;
  for (const uint64_t i : list) append_bag(data.features.sparse, i, expected);
  EXPECT_EQ(batch.rows.begin, expected.begin);
  EXPECT_EQ(batch.rows.id, expected.id);
  EXPECT_EQ(batch.rows.value, expected.value);
  ASSERT_EQ(batch.target.size(), 4u);
  ASSERT_EQ(batch.weight.size(), 4u);
  for (size_t j = 0; j < list.size(); ++j) {
    EXPECT_EQ(batch.target[j], data.target[list[j]]);
    EXPECT_EQ(batch.weight[j], data.weight[list[j]]);
  }
  feed.gather({}, batch);
  EXPECT_EQ(batch.rows.rows(), 0u);
}

TEST(ExampleFeed, CountsEveryClass) {
  const Dataset data = data_with_weights();
  const std::vector<uint64_t> counts = BagFeed(data).class_counts();
  ASSERT_EQ(counts.size(), 5u);
  EXPECT_EQ(counts[4], 0u);
  for (uint32_t k = 0; k < 5; ++k)
    EXPECT_EQ(counts[k], static_cast<uint64_t>(std::count(data.target.begin(), data.target.end(), k)));
}

TEST(ExampleFeed, WeightsHaveAMean) {
  Dataset data = data_with_weights();
  double sum = 0;
  for (const float w : data.weight) sum += double{w};
  EXPECT_DOUBLE_EQ(BagFeed(data).mean_weight(), sum / 30);
  data.weight.clear();
  EXPECT_EQ(BagFeed(data).mean_weight(), 1);
  ExampleBatch batch;
  BagFeed(data).gather(std::vector<uint64_t>{1}, batch);
  EXPECT_TRUE(batch.weight.empty());
}

TEST(ExampleFeed, FingerprintTellsDataApart) {
  const Dataset data = data_with_weights();
  Dataset other = data;
  EXPECT_EQ(BagFeed(other).fingerprint(), BagFeed(data).fingerprint());
  other.features.sparse.value.own()[3] += 1;
  EXPECT_NE(BagFeed(other).fingerprint(), BagFeed(data).fingerprint());
}

}  // namespace
}  // namespace selfnorm
