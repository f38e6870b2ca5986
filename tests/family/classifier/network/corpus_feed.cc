#include <gtest/gtest.h>

#include "family/classifier/network/example_feed.h"
#include "small_corpus.h"

namespace selfnorm {
namespace {

TEST(CorpusFeed, GathersContextsAndTargets) {
  const LearnedCorpus learned = learned_corpus("a a b\nb\n");  // <unk> 0, </s> 1, a 2, b 3, padding 4
  const CorpusFeed feed(learned.train, 2);
  EXPECT_EQ(feed.examples(), 6u);
  EXPECT_EQ(feed.class_counts(), (std::vector<uint64_t>{0, 2, 2, 2}));
  EXPECT_EQ(feed.mean_weight(), 1);
  ExampleBatch batch;
  batch.weight = {7};
  feed.gather(std::vector<uint64_t>{3, 0, 5, 3}, batch);
  EXPECT_EQ(batch.target, (std::vector<uint32_t>{1, 2, 1, 1}));
  EXPECT_EQ(batch.rows.begin, (std::vector<uint64_t>{0, 2, 4, 6, 8}));
  EXPECT_EQ(batch.rows.id, (std::vector<uint32_t>{2, 3, 4, 4, 4, 3, 2, 3}));
  EXPECT_TRUE(batch.rows.value.empty());
  EXPECT_TRUE(batch.weight.empty());
  feed.gather(std::vector<uint64_t>{1}, batch);
  EXPECT_EQ(batch.rows.rows(), 1u);
}

TEST(CorpusFeed, FingerprintsTellOrdersAndTextsApart) {
  const LearnedCorpus one = learned_corpus("a a b\nb\n"), other = learned_corpus("a b a\nb\n");
  EXPECT_EQ(CorpusFeed(one.train, 2).fingerprint(), CorpusFeed(one.train, 2).fingerprint());
  EXPECT_NE(CorpusFeed(one.train, 2).fingerprint(), CorpusFeed(one.train, 3).fingerprint());
  EXPECT_NE(CorpusFeed(one.train, 2).fingerprint(), CorpusFeed(other.train, 2).fingerprint());
}

}  // namespace
}  // namespace selfnorm
