#include "normalizer/ladder/cluster_masses.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <optional>

#include "normalizer/ladder/clustered_head.h"

namespace selfnorm {
namespace {

struct Masses {
  ModelFile model;
  Features x;
  ClassClusters clusters;
  std::vector<double> log_z;
  std::vector<float> g;

  Masses(uint32_t count, double scatter, bool sparse)
      : model(clustered_head(60, 5, count, scatter, 1)), x(dense_inputs(150, 5, 2)) {
    if (sparse) x = as_sparse(x);
    std::vector<uint32_t> cluster_of;
    for (uint32_t k = 0; k < 60; ++k) cluster_of.push_back(k % count);
    clusters = grouped_classes(cluster_of, count, model);
    const ExactSums sums(model, sparse);
    log_z = sums.log_z(x);
    g = sums.cluster_log_masses(x, log_z, clusters);
  }
  // Of the fitted masses on the rows they are fitted to.
  double largest_error() {
    std::optional<InputMetric> metric;
    if (!x.is_sparse) metric = InputMetric::of(x.dense);
    std::vector<double> usage = ExactSums(model, x.is_sparse).mean_shares(x, log_z);
    for (double& v : usage) v *= static_cast<double>(x.rows());
    const MassFit fit(model, x, metric ? &*metric : nullptr, clusters, usage);
    const std::vector<uint64_t> rows = numbers(0, x.rows());
    fit.fit(rows, g, log_z, clusters);
    std::vector<float> m(g.size());
    fit.evaluate(clusters, rows, m);
    double out = 0;
    for (size_t i = 0; i < g.size(); ++i)
      if (g[i] > log_z[i / clusters.clusters()] - 3)
        out = std::max(out, static_cast<double>(std::abs(m[i] - g[i])));
    return out;
  }
};

TEST(ClusterMasses, AreTheSumsOfTheirClasses) {
  const Masses masses(4, 0.5, false);
  const auto scores = make_class_scores(masses.model, false);
  std::vector<float> s(150 * 60);
  scores->tile(masses.x, {0, 150}, {0, 60}, s.data());
  for (size_t i = 0; i < 150; ++i) {
    double all = 0;
    for (uint32_t j = 0; j < 4; ++j) {
      double sum = 0;
      for (uint32_t k = j; k < 60; k += 4) sum += std::exp(static_cast<double>(s[i * 60 + k]));
      EXPECT_NEAR(masses.g[i * 4 + j], std::log(sum), 1e-4);
      all += sum;
    }
    EXPECT_NEAR(masses.log_z[i], std::log(all), 1e-4);
  }
}

// Classes that are alike have a mass that is affine, a class alone too: fitted exactly.
TEST(ClusterMasses, AffineMassesAreExact) {
  for (const bool sparse : {false, true}) {
    EXPECT_LT(Masses(4, 0, sparse).largest_error(), 1e-3);
    EXPECT_LT(Masses(60, 1, sparse).largest_error(), 1e-3);
  }
}

TEST(ClusterMasses, CurvedOnesAreClose) {
  EXPECT_LT(Masses(4, 0.3, false).largest_error(), 0.5);
  EXPECT_LT(Masses(4, 0.3, true).largest_error(), 1.0);
}

// Where a cluster matters it has the gradient of the class that matters there, whatever the others are at the
// mean input. Without inputs to regress on, the start is what is fitted.
TEST(ClusterMasses, StartFromTheRowsThatAreUsed) {
  Masses masses(4, 0.5, false);
  std::vector<double> usage(60);
  for (const uint32_t k : {0u, 1u, 2u, 3u}) usage[k] = 1e9;
  const InputMetric metric = InputMetric::of(masses.x.dense);
  const MassFit fit(masses.model, masses.x, &metric, masses.clusters, usage);
  fit.fit({}, masses.g, masses.log_z, masses.clusters);
  for (uint32_t j = 0; j < 4; ++j)
    for (uint32_t i = 0; i < 5; ++i)
      EXPECT_NEAR(masses.clusters.centroid[i * 4 + j], masses.model.weight[j * 5 + i], 1e-5);
}

TEST(ClusterMasses, SharesOfClassesSumToOne) {
  const Masses masses(4, 0.5, false);
  const std::vector<double> share = ExactSums(masses.model, false).mean_shares(masses.x, masses.log_z);
  EXPECT_NEAR(std::accumulate(share.begin(), share.end(), 0.0), 1, 1e-5);
}

}  // namespace
}  // namespace selfnorm
