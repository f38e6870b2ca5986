#include "model/huffman.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "random_data.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

uint64_t depth(const std::vector<uint32_t>& tree, uint32_t k) {
  uint64_t out = 0;
  for_each_ancestor(tree, k, [&](uint32_t, uint32_t) { ++out; });
  return out;
}

uint64_t total_depth(const std::vector<uint32_t>& tree, const std::vector<uint64_t>& counts) {
  uint64_t sum = 0;
  for (uint32_t k = 0; k < counts.size(); ++k) sum += counts[k] * depth(tree, k);
  return sum;
}

// The least sum over all binary trees: joining two subtrees costs their counts together.
uint64_t least_total_depth(std::vector<uint64_t> weights) {
  if (weights.size() == 1) return 0;
  uint64_t best = UINT64_MAX;
  for (size_t i = 0; i < weights.size(); ++i) {
    for (size_t j = i + 1; j < weights.size(); ++j) {
      std::vector<uint64_t> joined = weights;
      joined[i] += weights[j];
      joined.erase(joined.begin() + static_cast<std::ptrdiff_t>(j));
      best = std::min(best, weights[i] + weights[j] + least_total_depth(std::move(joined)));
    }
  }
  return best;
}

// Every node but the root has a later parent, and every inner node one child on each side.
void check_shape(const std::vector<uint32_t>& tree, size_t classes) {
  RC_ASSERT(tree.size() == 2 * classes - 1);
  RC_ASSERT(tree.back() == kRoot);
  std::set<uint32_t> links;
  for (size_t node = 0; node + 1 < tree.size(); ++node) {
    RC_ASSERT(tree[node] != kRoot);
    RC_ASSERT(classes + tree[node] / 2 > node);
    RC_ASSERT(links.insert(tree[node]).second);
  }
  RC_ASSERT(*links.rbegin() == 2 * (classes - 1) - 1);
}

std::vector<uint64_t> some_counts(int least, int most) {
  return *rc::gen::container<std::vector<uint64_t>>(*rc::gen::inRange(least, most),
                                                    rc::gen::inRange<uint64_t>(0, 50));
}

TEST(Huffman, TotalDepthIsTheLeast) {
  EXPECT_TRUE(rc::check("against all trees of up to 6 classes", [] {
    const std::vector<uint64_t> counts = some_counts(2, 7);
    const std::vector<uint32_t> tree = huffman_tree(counts);
    check_shape(tree, counts.size());
    RC_ASSERT(total_depth(tree, counts) == least_total_depth(counts));
  }));
}

TEST(Huffman, ProbabilitiesSumToOneForAnyScores) {
  EXPECT_TRUE(rc::check("up to 300 classes", [] {
    const std::vector<uint64_t> counts = some_counts(2, 300);
    const std::vector<uint32_t> tree = huffman_tree(counts);
    check_shape(tree, counts.size());
    const auto score = random_vector<double>(counts.size() - 1, *rc::gen::arbitrary<uint32_t>(), 3);
    double sum = 0;
    for (uint32_t k = 0; k < counts.size(); ++k) {
      double p = 1;
      for_each_ancestor(tree, k, [&](uint32_t row, uint32_t side) {
        p /= 1 + std::exp(side == 1 ? -score[row] : score[row]);
      });
      sum += p;
    }
    RC_ASSERT(std::abs(sum - 1) < 1e-9);
  }));
}

TEST(Huffman, TwoClassesAreOneDecision) {
  EXPECT_EQ(huffman_tree(std::vector<uint64_t>{5, 3}), (std::vector<uint32_t>{1, 0, kRoot}));
  EXPECT_EQ(huffman_tree(std::vector<uint64_t>{0, 0}), (std::vector<uint32_t>{0, 1, kRoot}));
}

TEST(Huffman, EqualCountsAreBalanced) {
  for (const uint64_t count : {0u, 1u, 1000u}) {
    const std::vector<uint32_t> tree = huffman_tree(std::vector<uint64_t>(64, count));
    for (uint32_t k = 0; k < 64; ++k) EXPECT_EQ(depth(tree, k), 6u);
  }
}

// Classes that were never seen hang below everything else: the two that were keep depths 1 and 2.
TEST(Huffman, ManyZeroCounts) {
  std::vector<uint64_t> counts(100, 0);
  counts[40] = 7;
  counts[60] = 2;
  const std::vector<uint32_t> tree = huffman_tree(counts);
  EXPECT_EQ(depth(tree, 40), 1u);
  EXPECT_EQ(depth(tree, 60), 2u);
  for (uint32_t k = 0; k < 100; ++k) EXPECT_GE(depth(tree, k), 1u);
}

TEST(Huffman, OneClassIsNoTree) {
  EXPECT_ANY_THROW(huffman_tree(std::vector<uint64_t>{5}));
  EXPECT_ANY_THROW(huffman_tree({}));
}

}  // namespace
}  // namespace selfnorm
