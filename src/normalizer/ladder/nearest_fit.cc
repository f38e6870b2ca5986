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

constexpr double kPriorInputs = 2;  // of full weight, that have the scatter of all clusters

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

// The root mean square of (G_j - m_j) / q, q as doubts take it.
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
                   e = std::min(2.0, std::abs(error)) / runtime::doubted_square(q[i]);
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
  const runtime::Kernels& kernels = runtime::best_kernels();
  std::vector<NearestSum> out(q.size());
  parallel_ranges(q.size(), 16, [&](size_t begin, size_t end) {
    std::vector<float> share(n), doubt(n), worth(n);
    for (size_t i = begin; i < end; ++i) {
      std::copy_n(m.data() + i * n, n, share.data());
      const runtime::ClusterShares all = kernels.cluster_shares(
          n, clusters.scatter.data(), static_cast<float>(runtime::doubted_square(q[i])), share.data(),
          doubt.data());
      const auto exact = [&](std::span<const uint32_t> some, LogSumExp* sum) {
        for (const uint32_t cluster : some) sum->add(static_cast<double>(g[i * n + cluster]));
        return true;
      };
      runtime::nearest_sum(kernels, all, q[i], {share, doubt, worth, clusters.scatter, clusters.begin}, stop,
                           exact, &out[i]);
    }
  });
  return out;
}

}  // namespace

uint32_t default_clusters(uint64_t classes) {
  const auto n = static_cast<uint64_t>(3 * std::sqrt(static_cast<double>(classes)));
  return static_cast<uint32_t>(std::clamp<uint64_t>(n, 1, std::min(classes, runtime::kMostClusters)));
}

NearestFitting::NearestFitting(const ModelFile& model, const ExactSums& sums, const Features& x,
                               std::span<const double> log_z, const NearestOptions& options)
    : model_(model), x_(x), log_z_(log_z), options_(options) {
  SELFNORM_CHECK(model.family == Family::Multiclass && model.classes >= 2 && x.rows() >= 2 &&
                 log_z.size() == x.rows());
  const auto step = [&](const std::string& text) {
    if (options.on_step) options.on_step(text);
  };
  const uint32_t clusters =
      options.clusters > 0 ? std::min(options.clusters, model.classes) : default_clusters(model.classes);
  std::optional<InputMetric> metric;
  if (InputMetric::is_for(x)) metric = InputMetric::of(x.dense);
  std::vector<double> usage = sums.mean_shares(x, log_z);
  {
    step("clusters");
    std::vector<double> weight;
    weight.reserve(usage.size());
    for (const double v : usage) weight.push_back(std::pow(v + 1e-12, options.weight_power));
    const Features some = first_rows(x, kMetricInputs);
    const ScoreRows rows(model, sums.scores(), some, metric ? &*metric : nullptr);
    const ClusterOptions clustering{.clusters = clusters,
                                    .iterations = options.iterations,
                                    .sampled = options.sampled,
                                    .seed = options.tail.seed};
    clusters_ = grouped_classes(cluster_classes(rows, weight, clustering), clusters, model);
  }
  step("masses of clusters");
  g_ = sums.cluster_log_masses(x, log_z, clusters_);
  for (double& v : usage) v *= static_cast<double>(x.rows());
  const MassFit masses(model, x, metric ? &*metric : nullptr, clusters_, usage);
  m_ = cross_fitted(masses, x.rows(), g_, log_z, clusters_);
  std::vector<uint64_t> all(x.rows());
  std::iota(all.begin(), all.end(), 0);
  masses.fit(all, g_, log_z, clusters_);
  q_ = squares_of(x);
  for (double& v : q_) v /= static_cast<double>(clusters_.norm[0]);
  clusters_.scatter = scatters(clusters_, g_, m_, log_z, q_);
}

ClassClusters NearestFitting::take_clusters() {
  for (std::vector<float>* done : {&g_, &m_}) std::vector<float>().swap(*done);
  if (!x_.is_sparse) copy_rows(model_, clusters_);
  return std::move(clusters_);
}

NearestFitting::Tail NearestFitting::tail(double stop) const {
  if (options_.on_step) options_.on_step("tails");
  Tail out;
  LadderRung& rung = out.rung;
  rung.kind = RungKind::Nearest;
  rung.stop = stop;
  const std::vector<NearestSum> sums = sums_of(clusters_, g_, m_, q_, stop);
  const std::vector<uint64_t> apart = fit_tail(x_, sums, log_z_, options_.tail, rung);
  const std::vector<double> t = tail_values(rung, x_, sums);
  double cost = 0, square = 0;
  for (const uint64_t i : apart) {
    out.error.push_back(sums[i].log_z(t[i]) - log_z_[i]);
    cost += static_cast<double>(sums[i].cost);
    square += out.error.back() * out.error.back();
  }
  const auto n = static_cast<double>(apart.size());
  rung.cost = static_cast<double>(clusters_.clusters()) + cost / n;
  rung.rms = std::sqrt(square / n);
  return out;
}

NearestFit fit_nearest(const ModelFile& model, const Features& x, const NearestOptions& options) {
  const ExactSums sums(model, x.is_sparse);
  const std::vector<double> log_z = sums.log_z(x);
  NearestFitting fitting(model, sums, x, log_z, options);
  NearestFit out;
  for (const double stop : options.stops) out.rungs.push_back(fitting.tail(stop).rung);
  out.clusters = fitting.take_clusters();
  return out;
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

}  // namespace selfnorm
