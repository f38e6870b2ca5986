// The rungs of a ladder (ladder_layout.h).
#include <algorithm>
#include <cmath>

#include "selfnorm/runtime/nearest_sum.h"
#include "selfnorm/runtime/scorer.h"
#include "selfnorm/runtime/state_encoder.h"

namespace selfnorm::runtime {
namespace {

constexpr uint64_t kRowsAtOnce = 256;
}  // namespace

bool Scorer::cluster_sum(const Query& query, std::span<const uint32_t> clusters, LogSumExp* out) const {
  const ClusterLayout& c = layout_.ladder.clusters;
  const size_t d = layout_.features;
  const bool has_rows = query.index == nullptr && !c.rows.empty();
  float scores[kRowsAtOnce];
  size_t filled = 0;
  const auto add = [&] {
    if (!are_finite(scores, filled)) return false;
    LogSumExp part;
    part.sum = kernels_->exp_sum_f32(scores, filled, &part.max);
    out->merge(part);
    filled = 0;
    return true;
  };
  *out = {};
  for (size_t next = 0; next < clusters.size(); ++next) {
    if (has_rows && next + 1 < clusters.size() && c.begin[clusters[next + 1]] < layout_.classes)
      prefetch_row(c.rows.data() + uint64_t{c.begin[clusters[next + 1]]} * d, d);
    const uint64_t end = c.begin[clusters[next] + 1];
    if (end > layout_.classes) return false;
    for (uint64_t first = c.begin[clusters[next]]; first < end;) {
      const size_t n = std::min<uint64_t>(kRowsAtOnce - filled, end - first);
      if (has_rows) {
        kernels_->dot_bf16({c.rows.data() + first * d, n, d, query.value.data()}, scores + filled);
      } else {
        for (size_t i = 0; i < n; ++i) {
          const uint32_t k = c.order[first + i];
          if (k >= layout_.classes) return false;
          dot(query, k, {scores + filled + i, 1});
          if (!layout_.weight_scale.empty()) scores[filled + i] *= layout_.weight_scale[k];
        }
      }
      kernels_->add_scaled(1, c.bias.data() + first, n, scores + filled);
      filled += n;
      first += n;
      if (filled == kRowsAtOnce && !add()) return false;
    }
  }
  return filled == 0 || add();
}

bool Scorer::nearest(const Query& query, const RungLayout& rung, Approximation* out) const {
  const ClusterLayout& c = layout_.ladder.clusters;
  const size_t n = c.clusters(), d = layout_.features;
  return with_floats(3 * n, [&](float* work) {
    float *share = work, *doubt = work + n, *worth = work + 2 * n;
    const size_t entries = query.value.size();
    float square = 0;
    kernels_->dot_f32({query.value.data(), 1, entries, query.value.data()}, &square);
    std::copy(c.mass.begin(), c.mass.end(), share);
    float factor[4];
    const float* slope[4];
    size_t filled = 0;
    for (size_t i = 0; i < entries; ++i) {
      const float v = query.value[i];
      if (v == 0) continue;
      factor[filled] = v;
      slope[filled] = c.centroid.data() + (query.index == nullptr ? i : query.index[i]) * n;
      if (++filled < 4) continue;
      kernels_->add_four(factor, slope, n, share);
      filled = 0;
    }
    for (size_t i = 0; i < filled; ++i) kernels_->add_scaled(factor[i], slope[i], n, share);
    const float q = square / c.norm[0];
    if (!std::isfinite(q)) return false;
    kernels_->add_scaled(q, c.centroid.data() + d * n, n, share);
    const ClusterShares all = kernels_->cluster_shares(
        n, c.scatter.data(), static_cast<float>(doubted_square(static_cast<double>(q))), share, doubt);
    if (!std::isfinite(all.most) || !std::isfinite(all.total) || !std::isfinite(all.doubt)) return false;

    NearestSum sum;
    const auto exact = [&](std::span<const uint32_t> some, LogSumExp* total) {
      return cluster_sum(query, some, total);
    };
    if (!nearest_sum(*kernels_, all, static_cast<double>(q),
                     {{share, n}, {doubt, n}, {worth, n}, c.scatter, c.begin}, rung.stop, exact, &sum))
      return false;
    double t = 0;
    if (sum.has_tail()) {
      double f[kTailExtras];
      sum.extras(f);
      t = network(query, rung.b, rung.extra, f);
    }
    const bool looks_at_x = sum.has_tail() && !rung.b.hidden_weight.empty();
    *out = {sum.log_z(t), n + sum.cost + (looks_at_x ? rung.b.output.size() : 0)};
    return std::isfinite(out->log_z);
  });
}

bool Scorer::log_normalizer(const Query& query, const RungLayout& rung, Approximation* out) const {
  switch (rung.kind) {
    case RungKind::Raw:
      *out = {layout_.log_normalizer, 0};
      return std::all_of(query.value.begin(), query.value.end(), [](float v) { return std::isfinite(v); });
    case RungKind::Linear:
    case RungKind::Network:
      *out = {layout_.log_normalizer + network(query, rung.b, {}, nullptr), 1 + rung.b.output.size()};
      return std::isfinite(out->log_z);
    case RungKind::Nearest:
      return nearest(query, rung, out);
    case RungKind::Exact:
      break;
  }
  LogSumExp total;
  if (!log_sum(query, &total)) return false;
  *out = {total.value(), layout_.classes};
  return true;
}

}  // namespace selfnorm::runtime
