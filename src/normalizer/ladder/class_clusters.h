// k-means of classes, weighted: minimises sum_k v_k |x_k - m_j(k)|^2 over C means, where x are the points of
// score_rows.h. Started from classes drawn by weight, Lloyd's iterations on a sample of the classes, a mean
// without classes becomes the worst fitted one of them. The same bits for any number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "normalizer/ladder/score_rows.h"

namespace selfnorm {

struct ClusterOptions {
  uint32_t clusters = 0;  // C, 1 .. classes
  uint64_t iterations = 10;
  uint64_t sampled = 32;  // classes a cluster that the iterations see, at most
  uint64_t seed = 0;
};

// The cluster of every class; every cluster has one at least.
std::vector<uint32_t> cluster_classes(const ScoreRows& rows, std::span<const double> weight,
                                      const ClusterOptions& options);

}  // namespace selfnorm
