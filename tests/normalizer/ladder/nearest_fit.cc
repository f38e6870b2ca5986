#include "normalizer/ladder/nearest_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <optional>

#include "math/parallel.h"
#include "normalizer/ladder/cluster_masses.h"
#include "normalizer/ladder/clustered_head.h"
#include "selfnorm/runtime/scorer.h"

namespace selfnorm {
namespace {

NearestOptions few_steps() {
  NearestOptions out;
  out.clusters = 20;
  out.stops = {1, 0.05, 0};
  out.tail.hidden = 8;
  out.tail.epochs = 10;
  return out;
}

double rms_of(const ModelFile& model, const NearestFit& fit, size_t rung, const Features& x, bool sparse) {
  ModelFile with = model;
  with.ladder = {fit.rungs, fit.clusters};
  const runtime::ModelLayout layout = layout_of(with);
  const runtime::Scorer scorer(layout);
  const std::vector<double> log_z = ExactSums(model, sparse).log_z(x);
  double square = 0;
  for (uint64_t i = 0; i < x.rows(); ++i) {
    runtime::Approximation a;
    const runtime::Query query =
        sparse ? runtime::Query{{x.sparse.value.data() + x.sparse.begin[i], x.columns()},
                                x.sparse.column.data() + x.sparse.begin[i]}
               : runtime::Query{x.dense.row(i)};
    EXPECT_TRUE(scorer.log_normalizer(query, layout.ladder.rungs[rung], &a));
    square += std::pow(a.log_z - log_z[i], 2);
  }
  return std::sqrt(square / static_cast<double>(x.rows()));
}

// On inputs it was not fitted to: the smaller the doubt that is allowed the better and the dearer, and none
// is exact.
TEST(NearestFit, IsCloserTheLessDoubtItAllows) {
  const ModelFile model = clustered_head(600, 6, 15, 0.3, 1);
  for (const bool sparse : {false, true}) {
    const Features x = dense_inputs(400, 6, 2), fresh = dense_inputs(300, 6, 3);
    const NearestFit fit = fit_nearest(model, sparse ? as_sparse(x) : x, few_steps());
    ASSERT_EQ(fit.rungs.size(), 3u);
    EXPECT_EQ(fit.clusters.rows.empty(), sparse);
    std::vector<double> rms;
    for (size_t r = 0; r < 3; ++r)
      rms.push_back(rms_of(model, fit, r, sparse ? as_sparse(fresh) : fresh, sparse));
    EXPECT_LT(rms[0], 0.3);
    EXPECT_LT(rms[1], 0.05);
    EXPECT_LT(rms[2], 0.01);  // rows are rounded
    EXPECT_LT(rms[1], rms[0]);
    EXPECT_LT(fit.rungs[0].cost, fit.rungs[1].cost);
    EXPECT_LE(fit.rungs[2].cost, 20 + 600);
  }
}

TEST(NearestFit, DoesNotDependOnThreads) {
  const ModelFile model = clustered_head(300, 5, 9, 0.4, 4);
  const Features x = dense_inputs(200, 5, 5);
  const NearestFit all = fit_nearest(model, x, few_steps());
  const ThreadLimit limit(1);
  const NearestFit one = fit_nearest(model, x, few_steps());
  EXPECT_EQ(one.clusters, all.clusters);
  EXPECT_EQ(one.rungs, all.rungs);
}

}  // namespace
}  // namespace selfnorm
