#include "model/huffman.h"

#include <algorithm>
#include <numeric>

#include "selfnorm/error.h"

namespace selfnorm {

// Two queues (van Leeuwen 1976): the leaves by count, and the inner nodes, which are made in rising order of
// their counts. Equal counts: leaves first, then the earlier.
std::vector<uint32_t> huffman_tree(std::span<const uint64_t> counts) {
  const size_t classes = counts.size();
  SELFNORM_CHECK(classes >= 2);
  std::vector<uint32_t> leaf(classes);
  std::iota(leaf.begin(), leaf.end(), 0u);
  std::stable_sort(leaf.begin(), leaf.end(), [&](uint32_t a, uint32_t b) { return counts[a] < counts[b]; });
  std::vector<uint64_t> inner;
  inner.reserve(classes - 1);
  std::vector<uint32_t> tree(2 * classes - 1, kRoot);
  size_t next_leaf = 0, next_inner = 0;
  const auto take = [&](uint32_t link) {
    const bool is_leaf =
        next_leaf < classes && (next_inner == inner.size() || counts[leaf[next_leaf]] <= inner[next_inner]);
    const size_t node = is_leaf ? leaf[next_leaf] : classes + next_inner;
    const uint64_t count = is_leaf ? counts[leaf[next_leaf]] : inner[next_inner];
    ++(is_leaf ? next_leaf : next_inner);
    tree[node] = link;
    return count;
  };
  for (uint32_t j = 0; j + 1 < classes; ++j) {
    const uint64_t left = take(2 * j), right = take(2 * j + 1);
    inner.push_back(left + right);
  }
  return tree;
}

}  // namespace selfnorm
