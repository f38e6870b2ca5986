// The tree of a hierarchical model, read in place. Nodes 0 .. K-1 are the classes, K .. 2K-2 the inner nodes,
// the last of them the root; inner node K + j has row j of the weights. link[i] = 2 j + side with K + j the
// parent of node i, which is greater than i, and side 1 for its right child; kNoParent for the root.
//     log p(k|x) = sum over the links (j, side) from leaf k to the root of log sigma(+-s_j), + for a right
//     child
#pragma once

#include <cstdint>
#include <span>

namespace selfnorm::runtime {

inline constexpr uint32_t kNoParent = 0xFFFFFFFFu;

struct Tree {
  std::span<const uint32_t> link;  // 2K - 1; empty: there is no tree

  uint64_t classes() const { return (link.size() + 1) / 2; }

  // visit(row, side) for the inner nodes from leaf k < K to the root. False when a link does not lead
  // upwards: links are not scanned at open, so each walk checks its own.
  template <class Visit>
  bool walk(uint64_t k, const Visit& visit) const {
    const uint64_t root = link.size() - 1;
    for (uint64_t node = k; node != root;) {
      const uint64_t parent = classes() + link[node] / 2;
      if (parent <= node || parent > root) return false;
      visit(link[node] / 2, link[node] % 2);
      node = parent;
    }
    return true;
  }
};

}  // namespace selfnorm::runtime
