#include "engine/minibatches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace selfnorm {
namespace {

constexpr uint64_t kPoolSize = ShuffledOrder::kChunk * ShuffledOrder::kPool;

std::vector<uint64_t> whole(uint64_t examples, uint64_t seed, uint64_t epoch) {
  std::vector<uint64_t> out;
  ShuffledOrder(examples, seed).slice(epoch, 0, examples, out);
  return out;
}

std::vector<uint64_t> identity(uint64_t examples) {
  std::vector<uint64_t> out(examples);
  std::iota(out.begin(), out.end(), uint64_t{0});
  return out;
}

// One example, part of a chunk, several chunks, two pools with a short chunk somewhere among them.
TEST(ShuffledOrder, IsAPermutation) {
  for (const uint64_t examples : {uint64_t{1}, uint64_t{777}, 3 * ShuffledOrder::kChunk + 5,
                                  kPoolSize + 2 * ShuffledOrder::kChunk + 3}) {
    for (const uint64_t epoch : {0, 1}) {
      std::vector<uint64_t> order = whole(examples, 3, epoch);
      EXPECT_EQ(order == identity(examples), examples == 1) << examples;
      std::sort(order.begin(), order.end());
      EXPECT_EQ(order, identity(examples));
    }
  }
}

TEST(ShuffledOrder, DependsOnSeedAndEpochAlone) {
  EXPECT_EQ(whole(500, 3, 2), whole(500, 3, 2));
  EXPECT_NE(whole(500, 3, 2), whole(500, 4, 2));
  EXPECT_NE(whole(500, 3, 2), whole(500, 3, 1));
  EXPECT_EQ(whole(500, 3, 300).size(), 500u);
}

// In the order of a run, after a jump back, and across the border of two pools.
TEST(ShuffledOrder, SlicesAreThoseOfTheWhole) {
  const uint64_t examples = kPoolSize + 10'000;
  const std::vector<uint64_t> all = whole(examples, 5, 1);
  ShuffledOrder order(examples, 5);
  std::vector<uint64_t> part;
  const auto check = [&](uint64_t first, uint64_t count) {
    order.slice(1, first, count, part);
    ASSERT_EQ(part.size(), count);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + static_cast<std::ptrdiff_t>(first)));
  };
  order.slice(0, 17, 100, part);
  for (uint64_t first = 0; first < 3000; first += 256) check(first, 256);
  check(kPoolSize - 5'000, 12'000);
  check(examples - 1, 1);
  check(4, 10);
  check(4, 0);
}

// Neighbours come apart: the mean distance of two random places among n is n / 3, its standard error over
// n - 1 pairs about n / (4 sqrt n); six of them are 3 parts in 100 of n = 3 chunks.
TEST(ShuffledOrder, ChunksAreMixed) {
  const std::vector<uint64_t> order = whole(3 * ShuffledOrder::kChunk, 1, 0);
  double sum = 0;
  for (size_t i = 0; i + 1 < order.size(); ++i)
    sum += std::abs(static_cast<double>(order[i]) - static_cast<double>(order[i + 1]));
  const double n = static_cast<double>(order.size());
  EXPECT_NEAR(sum / (n - 1) / n, 1.0 / 3, 0.03);
}

TEST(Minibatches, AnEpochHasEveryExampleOnceAndAStepIsFoundAgain) {
  Minibatches batches(100, 32, 5), other(100, 32, 5);
  EXPECT_EQ(batches.per_epoch(), 4u);
  std::vector<uint64_t> seen;
  for (uint64_t step = 4; step < 8; ++step) {
    const auto chosen = batches.of(step);
    EXPECT_EQ(chosen.size(), step == 7 ? 4u : 32u);
    seen.insert(seen.end(), chosen.begin(), chosen.end());
  }
  const std::vector<uint64_t> last(seen.end() - 4, seen.end());
  const auto again = other.of(7);  // without those before
  EXPECT_EQ(std::vector<uint64_t>(again.begin(), again.end()), last);
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, identity(100));
}

TEST(Minibatches, WhatIsLeftOverMayBeLeftOut) {
  Minibatches batches(100, 32, 5, Minibatches::Rest::is_left_out);
  EXPECT_EQ(batches.per_epoch(), 3u);
  for (uint64_t step = 0; step < 7; ++step) EXPECT_EQ(batches.of(step).size(), 32u);
  EXPECT_EQ(Minibatches(10, 32, 5).size(), 10u);
}

}  // namespace
}  // namespace selfnorm
