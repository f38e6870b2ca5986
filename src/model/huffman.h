// The tree of hierarchical softmax (Morin & Bengio 2005; Huffman's tree as in Mikolov et al. 2013):
//     log p(k|x) = sum over the inner nodes j on the path from leaf k to the root of
//                  log sigma(s_j) for a right child, log sigma(-s_j) for a left one,   s_j = w_j . h + c_j,
// which sums to 1 over the classes whatever the scores. A frequent class has a short path.
//
// Nodes 0 .. K-1 are the classes, K .. 2K-2 inner nodes in the order they were made, the last the root; inner
// node K + j has row j of the weights. tree[i] = 2 j + side with K + j the parent of node i, which is greater
// than i, and side 1 for its right child; kRoot for the root.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace selfnorm {

inline constexpr uint32_t kRoot = 0xFFFFFFFFu;

// Huffman's tree over classes seen so often; at least two classes.
std::vector<uint32_t> huffman_tree(std::span<const uint64_t> counts);

// visit(row, side) for the inner nodes from the leaf to the root.
template <class Visit>
void for_each_ancestor(std::span<const uint32_t> tree, uint32_t k, const Visit& visit) {
  const uint64_t classes = (tree.size() + 1) / 2;
  for (uint32_t link = tree[k]; link != kRoot; link = tree[classes + link / 2]) visit(link / 2, link % 2);
}

}  // namespace selfnorm
