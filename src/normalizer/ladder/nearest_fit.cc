#include "normalizer/ladder/nearest_fit.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/failure.h"
#include "math/parallel.h"
#include "normalizer/ladder/class_clusters.h"
#include "normalizer/ladder/cluster_masses.h"
#include "selfnorm/runtime/kernels.h"

namespace selfnorm {
namespace {

using runtime::NearestSum;

constexpr uint64_t kWeightInputs = 512;  // that say how much mass a class has
constexpr double kPriorInputs = 2;       // of full weight, that have the scatter of all clusters

Features first_rows(const Features& x, uint64_t rows) {
  Features out;
  out.is_sparse = x.is_sparse;
  rows = std::min(rows, x.rows());
  if (x.is_sparse) {
    const uint64_t end = x.sparse.begin[rows];
    out.sparse.columns = x.sparse.columns;
    out.sparse.begin.assign(x.sparse.begin.begin(),
                            x.sparse.begin.begin() + static_cast<std::ptrdiff_t>(rows + 1));
    out.sparse.column.assign(x.sparse.column.begin(),
                             x.sparse.column.begin() + static_cast<std::ptrdiff_t>(end));
    out.sparse.value.assign(x.sparse.value.begin(),
                            x.sparse.value.begin() + static_cast<std::ptrdiff_t>(end));
  } else {
    out.dense = {rows,
                 x.dense.columns,
                 {x.dense.values.begin(),
                  x.dense.values.begin() + static_cast<std::ptrdiff_t>(rows * x.dense.columns)}};
  }
  return out;
}

// Masses that were not fitted to the row they are of: even rows by odd ones, and the other way round.
std::vector<float> cross_fitted(const MassFit& fit, uint64_t rows, std::span<const float> g,
                                std::span<const double> log_z, const ClassClusters& clusters) {
  std::vector<float> out(g.size());
  for (uint64_t half = 0; half < 2; ++half) {
    std::vector<uint64_t> fitted, others;
    for (uint64_t i = 0; i < rows; ++i) (i % 2 == half ? fitted : others).push_back(i);
    ClassClusters part = clusters;
    fit.fit(fitted, g, log_z, part);
    fit.evaluate(part, others, out);
  }
  return out;
}

// The root mean square of (G_j - m_j) / q.
std::vector<float> scatters(const ClassClusters& clusters, std::span<const float> g, std::span<const float> m,
                            std::span<const double> log_z, std::span<const double> q) {
  const size_t n = clusters.clusters();
  std::vector<double> weight(n), square(n);
  for (size_t i = 0; i < log_z.size(); ++i)
    for (size_t j = 0; j < n; ++j) {
      const double exact = g[i * n + j], error = exact - static_cast<double>(m[i * n + j]);
      const double share = std::exp(std::max(exact, exact - error) - log_z[i]);
      if (share < kLeastShare) continue;
      const double v = std::min(1.0, share / kFullShare),
                   e = std::min(2.0, std::abs(error)) / std::max(q[i], 0.1);
      weight[j] += v;
      square[j] += v * e * e;
    }
  double all_weight = 1e-9, all_square = 0;
  for (size_t j = 0; j < n; ++j)
    if (clusters.begin[j + 1] - clusters.begin[j] > 1) all_weight += weight[j], all_square += square[j];
  std::vector<float> out(n);
  for (size_t j = 0; j < n; ++j)
    if (clusters.begin[j + 1] - clusters.begin[j] > 1)
      out[j] = static_cast<float>(
          std::sqrt((square[j] + kPriorInputs * all_square / all_weight) / (weight[j] + kPriorInputs)));
  return out;
}

std::vector<NearestSum> sums_of(const ClassClusters& clusters, std::span<const float> g,
                                std::span<const float> m, std::span<const double> q, double stop) {
  const size_t n = clusters.clusters();
  std::vector<NearestSum> out(q.size());
  parallel_ranges(q.size(), 16, [&](size_t begin, size_t end) {
    std::vector<float> share(n), doubt(n);
    for (size_t i = begin; i < end; ++i) {
      std::copy_n(m.data() + i * n, n, share.data());
      const runtime::ClusterShares all = runtime::best_kernels().cluster_shares(
          n, clusters.scatter.data(), static_cast<float>(q[i]), share.data(), doubt.data());
      const auto exact = [&](std::span<const runtime::DoubtfulCluster> some, LogSumExp* sum) {
        for (const runtime::DoubtfulCluster& cluster : some)
          sum->add(static_cast<double>(g[i * n + cluster.cluster]));
        return true;
      };
      runtime::nearest_sum(all, q[i], share, doubt.data(), clusters.begin, stop, exact, &out[i]);
    }
  });
  return out;
}

}  // namespace

uint32_t default_clusters(uint64_t classes) {
  const auto n = static_cast<uint64_t>(3 * std::sqrt(static_cast<double>(classes)));
  return static_cast<uint32_t>(std::clamp<uint64_t>(n, 1, std::min(classes, runtime::kMostClusters)));
}

NearestValues::NearestValues(const ExactSums& sums, const ClassClusters& clusters, const Features& x,
                             std::span<const double> log_z)
    : clusters_(clusters),
      x_(x),
      exact_(sums.cluster_log_masses(x, log_z, clusters)),
      fitted_(exact_.size()),
      square_(squares_of(x)) {
  for (double& v : square_) v /= static_cast<double>(clusters.norm[0]);
  std::vector<uint64_t> all(x.rows());
  std::iota(all.begin(), all.end(), 0);
  evaluate_masses(clusters, x, square_, all, fitted_);
}

std::vector<runtime::Approximation> NearestValues::of(const LadderRung& rung) const {
  const std::vector<NearestSum> sums = sums_of(clusters_, exact_, fitted_, square_, rung.stop);
  const std::vector<double> t = tail_values(rung, x_, sums);
  std::vector<runtime::Approximation> out;
  for (size_t i = 0; i < sums.size(); ++i) {
    const bool looks_at_x = sums[i].has_tail() && !rung.b.hidden_weight.empty();
    out.push_back(
        {sums[i].log_z(t[i]), clusters_.clusters() + sums[i].cost + (looks_at_x ? rung.b.output.size() : 0)});
  }
  return out;
}

NearestFit fit_nearest(const ModelFile& model, const Features& x, const NearestOptions& options) {
  SELFNORM_CHECK(model.family == Family::Multiclass && model.classes >= 2 && x.rows() >= 2);
  const auto step = [&](const std::string& text) {
    if (options.on_step) options.on_step(text);
  };
  const uint32_t clusters =
      options.clusters > 0 ? std::min(options.clusters, model.classes) : default_clusters(model.classes);
  const ExactSums sums(model, x.is_sparse);
  std::optional<InputMetric> metric;
  if (InputMetric::is_for(x)) metric = InputMetric::of(x.dense);
  NearestFit out;
  {
    step("clusters");
    const Features some = first_rows(x, kWeightInputs);
    std::vector<double> weight = sums.mean_shares(some, sums.log_z(some));
    for (double& v : weight) v = std::pow(v + 1e-12, options.weight_power);
    const ScoreRows rows(model, sums.scores(), some, metric ? &*metric : nullptr);
    out.clusters = grouped_classes(
        cluster_classes(rows, weight, {.clusters = clusters, .seed = options.tail.seed}), clusters, model);
  }
  step("masses of clusters");
  const std::vector<double> log_z = sums.log_z(x);
  const std::vector<float> g = sums.cluster_log_masses(x, log_z, out.clusters);
  const MassFit masses(model, x, metric ? &*metric : nullptr, out.clusters);
  const std::vector<float> m = cross_fitted(masses, x.rows(), g, log_z, out.clusters);
  std::vector<uint64_t> all(x.rows());
  std::iota(all.begin(), all.end(), 0);
  masses.fit(all, g, log_z, out.clusters);
  std::vector<double> q = squares_of(x);
  for (double& v : q) v /= static_cast<double>(out.clusters.norm[0]);
  out.clusters.scatter = scatters(out.clusters, g, m, log_z, q);
  if (!x.is_sparse) copy_rows(model, out.clusters);
  for (const double stop : options.stops) {
    step("tails");
    LadderRung rung;
    rung.kind = RungKind::Nearest;
    rung.stop = stop;
    const std::vector<NearestSum> nearest = sums_of(out.clusters, g, m, q, stop);
    fit_tail(x, nearest, log_z, options.tail, rung);
    const std::vector<double> t = tail_values(rung, x, nearest);
    double cost = 0, square = 0;
    for (size_t i = 0; i < nearest.size(); ++i) {
      cost += static_cast<double>(nearest[i].cost);
      square += std::pow(nearest[i].log_z(t[i]) - log_z[i], 2);
    }
    rung.cost = clusters + cost / static_cast<double>(nearest.size());
    rung.rms = std::sqrt(square / static_cast<double>(nearest.size()));
    out.rungs.push_back(std::move(rung));
  }
  return out;
}

}  // namespace selfnorm
