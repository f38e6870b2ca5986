#include "normalizer/ladder/class_clusters.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <optional>
#include <set>

#include "math/parallel.h"
#include "normalizer/ladder/clustered_head.h"

namespace selfnorm {
namespace {

std::vector<uint32_t> clusters_of(const ModelFile& model, const Features& x, const ClusterOptions& options) {
  const auto scores = make_class_scores(model, false);
  const InputMetric metric = InputMetric::of(x.dense);
  const ScoreRows rows(model, *scores, x, &metric);
  return cluster_classes(rows, std::vector<double>(model.classes, 1.0), options);
}

TEST(ClassClusters, FindPlantedClusters) {
  const ModelFile model = clustered_head(300, 8, 5, 0.01, 1);
  const std::vector<uint32_t> found = clusters_of(model, dense_inputs(400, 8, 2), {.clusters = 20});
  // More clusters than planted ones: none holds classes of two.
  for (uint32_t k = 0; k < 300; ++k)
    for (uint32_t l = 0; l < k; ++l)
      if (found[k] == found[l]) {
        EXPECT_EQ(k % 5, l % 5);
      }
}

TEST(ClassClusters, EveryClusterHasAClass) {
  const ModelFile model = clustered_head(40, 4, 2, 0, 3);  // only two points
  const std::vector<uint32_t> found = clusters_of(model, dense_inputs(100, 4, 4), {.clusters = 7});
  EXPECT_EQ(std::set<uint32_t>(found.begin(), found.end()).size(), 7u);
}

TEST(ClassClusters, DoNotDependOnThreadsAndSampleWhenThereAreMany) {
  const ModelFile model = clustered_head(2000, 6, 9, 0.3, 5);
  const Features x = dense_inputs(300, 6, 6);
  const ClusterOptions options{.clusters = 10, .sampled = 20};
  std::vector<uint32_t> one, all = clusters_of(model, x, options);
  {
    const ThreadLimit limit(1);
    one = clusters_of(model, x, options);
  }
  EXPECT_EQ(one, all);
}

}  // namespace
}  // namespace selfnorm
