// k-means++ (Arthur & Vassilvitskii 2007): each centre is a row drawn in proportion to its squared distance
// from the centres there are, the best of 2 + log K draws (the one that leaves the smallest sum of squares).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace selfnorm {

// Of each row of `rows` (n x d), the index of its nearest centre; every index below the largest occurs. Fewer
// than `clusters` when there are fewer distinct rows.
std::vector<uint32_t> plus_plus_clusters(std::span<const double> rows, uint32_t dimension, uint32_t clusters,
                                         uint64_t seed);

}  // namespace selfnorm
