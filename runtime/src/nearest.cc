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

void Scorer::dot_list(const Query& query, const uint32_t* rows, std::span<float> out) const {
  if (query.index != nullptr) {
    for (size_t i = 0; i < out.size(); ++i) dot(query, rows[i], {&out[i], 1});
    return;
  }
  const size_t d = layout_.features, n = out.size();
  const float* x = query.value.data();
  if (layout_.weights == WeightKind::Float32)
    return kernels_->dot_rows_f32({layout_.weight_f32.data(), rows, n, d, x}, out.data());
  if (layout_.weights == WeightKind::Bfloat16)
    return kernels_->dot_rows_bf16({layout_.weight_bf16.data(), rows, n, d, x}, out.data());
  kernels_->dot_rows_i8({layout_.weight_i8.data(), rows, n, d, x}, out.data());
}

bool Scorer::cluster_sum(const Query& query, size_t cluster, LogSumExp* out) const {
  const ClusterLayout& c = layout_.ladder.clusters;
  float products[kRowsAtOnce];
  double scores[kRowsAtOnce];
  *out = {};
  for (uint64_t first = c.begin[cluster]; first < c.begin[cluster + 1]; first += kRowsAtOnce) {
    const size_t n = std::min<uint64_t>(kRowsAtOnce, c.begin[cluster + 1] - first);
    const uint32_t* rows = c.order.data() + first;
    if (std::any_of(rows, rows + n, [&](uint32_t k) { return k >= layout_.classes; })) return false;
    dot_list(query, rows, {products, n});
    bool good = true;
    for (size_t i = 0; i < n; ++i) {
      const double product = static_cast<double>(products[i]);
      scores[i] = (layout_.weight_scale.empty() ? product : product * layout_.weight_scale[rows[i]]) + c.bias[first + i];
      good = good && std::isfinite(scores[i]);
    }
    if (!good) return false;
    LogSumExp part;
    part.sum = kernels_->exp_sum(scores, n, &part.max);
    out->merge(part);
  }
  return true;
}

bool Scorer::nearest(const Query& query, const RungLayout& rung, Approximation* out) const {
  const ClusterLayout& c = layout_.ladder.clusters;
  const size_t n = c.clusters();
  return with_floats(2 * n, [&](float* work) {
    float *share = work, *doubt = work + n;
    std::copy(c.mass.begin(), c.mass.end(), share);
    for (size_t i = 0; i < query.value.size(); ++i) {
      const size_t feature = query.index == nullptr ? i : query.index[i];
      if (query.value[i] != 0) kernels_->add_scaled(query.value[i], c.centroid.data() + feature * n, n, share);
    }
    const ClusterShares all = kernels_->cluster_shares(n, c.scatter.data(), share, doubt);
    if (!std::isfinite(all.most) || !std::isfinite(all.total) || !std::isfinite(all.doubt)) return false;

    NearestSum sum;
    const auto exact = [&](size_t j, LogSumExp* total) {
      return c.begin[j] <= c.begin[j + 1] && c.begin[j + 1] <= layout_.classes && cluster_sum(query, j, total);
    };
    if (!nearest_sum(all, {share, n}, doubt, c.begin, rung.stop, exact, &sum)) return false;
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
