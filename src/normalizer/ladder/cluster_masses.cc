#include "normalizer/ladder/cluster_masses.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/failure.h"
#include "math/gemm.h"
#include "math/half.h"
#include "math/parallel.h"
#include "normalizer/class_moments.h"
#include "normalizer/device_head.h"

namespace selfnorm {
namespace {

constexpr uint64_t kRowBlockOfMasses = 64, kClassTile = 512, kBlocksAtOnce = 16;
constexpr float kLeastLog = -80;
constexpr double kSlopeRidge = 5, kCurveRidge = 1;  // in inputs of full weight

// visit(row, its tile of exp(s - log Z), first class) for the rows and all classes, rows in parallel.
template <class Visit>
void for_each_share(const ClassScores& scores, const Features& x, Range rows, std::span<const double> log_z,
                    const Visit& visit) {
  parallel_ranges(rows.end - rows.begin, kRowBlockOfMasses, [&](size_t from, size_t to) {
    const size_t begin = rows.begin + from, end = rows.begin + to;
    std::vector<float> tile((end - begin) * kClassTile);
    for (uint64_t first = 0; first < scores.classes(); first += kClassTile) {
      const uint64_t last = std::min<uint64_t>(scores.classes(), first + kClassTile), width = last - first;
      scores.tile(x, {begin, end}, {first, last}, tile.data());
      for (size_t i = begin; i < end; ++i) {
        const std::span<float> row(tile.data() + (i - begin) * width, width);
        const LogSumExp sum = exp_in_place(row.data(), width);
        scale(static_cast<float>(std::exp(sum.max - log_z[i])), row.data(), width);
        visit(i, std::span<const float>(row), first);
      }
    }
  });
}

// In place: the solution of A x = b for a symmetric positive A, whose lower half is overwritten.
void solve_positive(std::vector<double>& a, std::vector<double>& b) {
  const size_t d = b.size();
  for (size_t i = 0; i < d; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double sum = a[i * d + j];
      for (size_t k = 0; k < j; ++k) sum -= a[i * d + k] * a[j * d + k];
      a[i * d + j] = i == j ? std::sqrt(std::max(sum, 1e-12)) : sum / a[j * d + j];
    }
  }
  for (size_t i = 0; i < d; ++i) {
    for (size_t k = 0; k < i; ++k) b[i] -= a[i * d + k] * b[k];
    b[i] /= a[i * d + i];
  }
  for (size_t i = d; i-- > 0;) {
    for (size_t k = i + 1; k < d; ++k) b[i] -= a[k * d + i] * b[k];
    b[i] /= a[i * d + i];
  }
}

}  // namespace

ClassClusters grouped_classes(std::span<const uint32_t> cluster_of, uint32_t clusters,
                              const ModelFile& model) {
  ClassClusters out;
  out.begin.resize(clusters + 1);
  for (const uint32_t j : cluster_of) ++out.begin[j + 1];
  std::partial_sum(out.begin.begin(), out.begin.end(), out.begin.begin());
  out.order.resize(cluster_of.size());
  std::vector<uint32_t> next(out.begin.begin(), out.begin.end() - 1);
  for (uint32_t k = 0; k < cluster_of.size(); ++k) out.order[next[cluster_of[k]]++] = k;
  for (const uint32_t k : out.order)
    out.bias.push_back(model.bias[k] + (model.log_carrier.empty() ? 0 : model.log_carrier[k]));
  return out;
}

void copy_rows(const ModelFile& model, ClassClusters& clusters) {
  const size_t d = model.features;
  clusters.rows.resize(clusters.order.size() * d);
  parallel_ranges(clusters.order.size(), 1024, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const float* row = model.weight.data() + size_t{clusters.order[i]} * d;
      std::transform(row, row + d, clusters.rows.begin() + static_cast<std::ptrdiff_t>(i * d), to_bfloat16);
    }
  });
}

ExactSums::ExactSums(const ModelFile& model, bool is_sparse)
    : scores_(make_class_scores(model, is_sparse)),
      device_(is_sparse ? nullptr : DeviceHead::on_chosen_device(model)) {}
ExactSums::~ExactSums() = default;

bool ExactSums::serves_clusters() const { return device_ && device_->holds_bfloat16(); }

std::vector<double> ExactSums::log_z(const Features& x) const {
  const std::vector<SoftmaxMoments> rows =
      device_ ? device_->moments(x, {}).rows : class_moments(*scores_, x).rows;
  std::vector<double> out;
  out.reserve(rows.size());
  for (const SoftmaxMoments& row : rows) out.push_back(row.log_z());
  return out;
}

std::vector<double> ExactSums::mean_shares(const Features& x, std::span<const double> log_z) const {
  if (device_) return device_->mean_shares(x);
  const ClassScores& scores = *scores_;
  std::vector<std::vector<float>> part(kBlocksAtOnce, std::vector<float>(scores.classes()));
  std::vector<double> out(scores.classes());
  for (uint64_t first_row = 0; first_row < x.rows(); first_row += kBlocksAtOnce * kRowBlockOfMasses) {
    const Range rows{first_row, std::min(x.rows(), first_row + kBlocksAtOnce * kRowBlockOfMasses)};
    for (std::vector<float>& p : part) std::fill(p.begin(), p.end(), 0.0f);
    for_each_share(scores, x, rows, log_z, [&](size_t row, std::span<const float> share, uint64_t first) {
      add_scaled(1.0f, share.data(), part[(row - first_row) / kRowBlockOfMasses].data() + first,
                 share.size());
    });
    for (const std::vector<float>& p : part)
      for (size_t k = 0; k < out.size(); ++k)
        out[k] += static_cast<double>(p[k]) / static_cast<double>(x.rows());
  }
  return out;
}

std::vector<float> ExactSums::cluster_log_masses(const Features& x, std::span<const double> log_z,
                                                 const ClassClusters& clusters) const {
  const size_t n = clusters.begin.size() - 1;
  if (device_) {
    std::vector<float> out = device_->cluster_masses(x, clusters.order, clusters.begin);
    for (size_t i = 0; i < out.size(); ++i) out[i] += static_cast<float>(log_z[i / n]);
    return out;
  }
  const ClassScores& scores = *scores_;
  std::vector<uint32_t> cluster_of(scores.classes());
  for (uint32_t j = 0; j < n; ++j)
    for (uint32_t i = clusters.begin[j]; i < clusters.begin[j + 1]; ++i) cluster_of[clusters.order[i]] = j;
  std::vector<float> out(x.rows() * n);
  for_each_share(scores, x, {0, x.rows()}, log_z,
                 [&](size_t row, std::span<const float> share, uint64_t first) {
                   float* sum = out.data() + row * n;
                   for (size_t k = 0; k < share.size(); ++k) sum[cluster_of[first + k]] += share[k];
                 });
  for (uint64_t i = 0; i < x.rows(); ++i)
    for (size_t j = 0; j < n; ++j) {
      float& g = out[i * n + j];
      g = static_cast<float>(log_z[i]) + std::max(kLeastLog, std::log(g));
    }
  return out;
}

MassFit::MassFit(const ModelFile& model, const Features& x, const InputMetric* metric,
                 const ClassClusters& clusters, std::span<const double> usage)
    : model_(model), x_(x), metric_(metric), clusters_(clusters.begin.size() - 1), mean_(model.features) {
  for (uint64_t i = 0; i < x.rows(); ++i)
    for_each_entry(x, i, [&](uint32_t j, float v) {
      mean_[j] += static_cast<double>(v) / static_cast<double>(x.rows());
    });
  for (size_t j = 0; j < clusters_; ++j) size_.push_back(clusters.begin[j + 1] - clusters.begin[j]);
  start(clusters, usage);
  if (metric) whitened_ = metric->whitened(x.dense);
  square_ = squares_of(x);
  norm_ =
      std::max(1e-20, std::accumulate(square_.begin(), square_.end(), 0.0) / static_cast<double>(x.rows()));
  for (double& q : square_) q /= norm_;
}

void MassFit::start(const ClassClusters& clusters, std::span<const double> usage) {
  const size_t d = model_.features;
  slope_.resize(clusters_ * d);
  level_.resize(clusters_);
  const std::vector<float> at(mean_.begin(), mean_.end());
  parallel_ranges(clusters_, 4, [&](size_t begin, size_t end) {
    std::vector<double> score;
    for (size_t j = begin; j < end; ++j) {
      score.clear();
      LogSumExp sum;
      for (uint32_t i = clusters.begin[j]; i < clusters.begin[j + 1]; ++i) {
        score.push_back(dot(model_.weight.data() + size_t{clusters.order[i]} * d, at.data(), d) +
                        static_cast<double>(clusters.bias[i]));
        sum.add(score.back());
      }
      level_[j] = sum.value();
      double total = 1;
      for (uint32_t i = clusters.begin[j]; i < clusters.begin[j + 1]; ++i) total += usage[clusters.order[i]];
      for (uint32_t i = clusters.begin[j]; i < clusters.begin[j + 1]; ++i) {
        const uint32_t k = clusters.order[i];
        const double inputs = usage[k] + std::exp(sum.log_share(score[i - clusters.begin[j]]));
        add_scaled(static_cast<float>(inputs / total), model_.weight.data() + size_t{k} * d,
                   slope_.data() + j * d, d);
      }
    }
  });
}

void MassFit::fit(std::span<const uint64_t> rows, std::span<const float> g, std::span<const double> log_z,
                  ClassClusters& out) const {
  const size_t d = model_.features, n = clusters_, width = (metric_ ? d : 1) + 1;
  out.centroid.assign((d + 1) * n, 0.0f);
  out.mass.assign(n, 0.0f);
  out.norm = {static_cast<float>(norm_)};
  parallel_ranges(n, 1, [&](size_t j, size_t) {
    const float* slope = slope_.data() + j * d;
    double at_mean = 0;
    for (size_t k = 0; k < d; ++k) at_mean += static_cast<double>(slope[k]) * mean_[k];
    std::vector<double> delta(d), weight, left,
        column;  // delta: in features; columns: regressors, row by row
    double curve = 0, shift = 0, total = 0;
    for (const uint64_t i : rows) {
      const double share = std::exp(static_cast<double>(g[i * n + j]) - log_z[i]);
      if (share < kLeastShare || size_[j] == 1) continue;
      double s = -at_mean;
      for_each_entry(
          x_, i, [&](uint32_t k, float v) { s += static_cast<double>(slope[k]) * static_cast<double>(v); });
      weight.push_back(std::min(1.0, share / kFullShare));
      left.push_back(static_cast<double>(g[i * n + j]) - level_[j] - s);
      total += weight.back();
      if (metric_)
        column.insert(column.end(), whitened_.begin() + static_cast<std::ptrdiff_t>(i * d),
                      whitened_.begin() + static_cast<std::ptrdiff_t>((i + 1) * d));
      else
        column.push_back(s);
      column.push_back(square_[i]);
    }
    if (total > 0) {
      // (R'WR + ridge) v = R'W (left - mean), regressors R centred by weight. One input of full weight says
      // 0.
      const size_t m = weight.size();
      std::vector<double> centre(width), v(width), matrix(width * width);
      double mean = 0;
      for (size_t i = 0; i < m; ++i) {
        mean += weight[i] * left[i] / (total + 1);
        for (size_t k = 0; k < width; ++k) centre[k] += weight[i] / total * column[i * width + k];
      }
      std::vector<float> scaled(m * width), gram(width * width);
      for (size_t i = 0; i < m; ++i) {
        const double root = std::sqrt(weight[i]);
        for (size_t k = 0; k < width; ++k) {
          const double r = root * (column[i * width + k] - centre[k]);
          scaled[i * width + k] = static_cast<float>(r);
          v[k] += r * root * (left[i] - mean);
        }
      }
      gemm_transposed(width, width, m, scaled.data(), width, scaled.data(), width, gram.data(), width);
      std::copy(gram.begin(), gram.end(), matrix.begin());
      for (size_t k = 0; k < width; ++k) matrix[k * width + k] += k + 1 < width ? kSlopeRidge : kCurveRidge;
      solve_positive(matrix, v);
      shift = mean;
      for (size_t k = 0; k < width; ++k) shift -= v[k] * centre[k];
      curve = v[width - 1];
      // v . z = (L^-T v) . (x - mean)
      for (size_t k = d; metric_ && k-- > 0;) {
        double sum = v[k];
        for (size_t l = k + 1; l < d; ++l) sum -= metric_->factor[l * d + k] * delta[l];
        delta[k] = sum / metric_->factor[k * d + k];
      }
      for (size_t k = 0; !metric_ && k < d; ++k) delta[k] = v[0] * static_cast<double>(slope[k]);
    }
    double mass = level_[j] + shift;
    for (size_t k = 0; k < d; ++k) {
      const double v = static_cast<double>(slope[k]) + delta[k];
      out.centroid[k * n + j] = static_cast<float>(v);
      mass -= v * mean_[k];
    }
    out.centroid[d * n + j] = static_cast<float>(curve);
    out.mass[j] = static_cast<float>(mass);
  });
}

void MassFit::evaluate(const ClassClusters& fitted, std::span<const uint64_t> rows,
                       std::span<float> out) const {
  evaluate_masses(fitted, x_, square_, rows, out);
}

void evaluate_masses(const ClassClusters& clusters, const Features& x, std::span<const double> q,
                     std::span<const uint64_t> rows, std::span<float> out) {
  const size_t n = clusters.clusters(), d = clusters.centroid.size() / n - 1;
  parallel_ranges(rows.size(), kRowBlockOfMasses, [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r) {
      float* m = out.data() + rows[r] * n;
      std::copy(clusters.mass.begin(), clusters.mass.end(), m);
      for_each_entry(x, rows[r], [&](uint32_t k, float v) {
        add_scaled(v, clusters.centroid.data() + size_t{k} * n, m, n);
      });
      add_scaled(static_cast<float>(q[rows[r]]), clusters.centroid.data() + d * n, m, n);
    }
  });
}

std::vector<double> squares_of(const Features& x) {
  std::vector<double> out(x.rows());
  for (uint64_t i = 0; i < x.rows(); ++i)
    for_each_entry(x, i,
                   [&](uint32_t, float v) { out[i] += static_cast<double>(v) * static_cast<double>(v); });
  return out;
}

}  // namespace selfnorm
