#include "selfnorm/runtime/scorer.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

namespace selfnorm::runtime {
namespace {

constexpr uint64_t kBlock = 256;
constexpr LogSumExp kOne = {0, 1};  // the sum of a tree's probabilities

template <class Weight>
float dot_sparse(const Weight* w, const Query& query) {
  const size_t n = query.value.size();
  float even = 0, odd = 0;
  size_t i = 0;
  for (; i + 2 <= n; i += 2) {
    even += widen(w[query.index[i]]) * query.value[i];
    odd += widen(w[query.index[i + 1]]) * query.value[i + 1];
  }
  if (i < n) even += widen(w[query.index[i]]) * query.value[i];
  return even + odd;
}

template <class Weight>
void dot_block(const RowBlock<Weight>& rows, void (*dense)(const RowBlock<Weight>&, float*),
               const Query& query, float* out) {
  if (query.index == nullptr) return dense(rows, out);
  for (size_t k = 0; k < rows.rows; ++k) out[k] = dot_sparse(rows.weight + k * rows.features, query);
}

// A heap of the n best seen so far with the worst on top, in two parallel arrays.
struct BestHeap {
  Ranked best;
  size_t size = 0;

  // Whether (s, k) ranks below entry i.
  bool below(double s, uint32_t k, size_t i) const {
    return s != best.scores[i] ? s < best.scores[i] : k > best.classes[i];
  }
  void set(size_t i, double s, uint32_t k) const {
    best.scores[i] = s;
    best.classes[i] = k;
  }

  // Puts (s, k) at the hole i or below it, among the first n entries.
  void sift_down(size_t i, size_t n, double s, uint32_t k) const {
    while (true) {
      size_t child = 2 * i + 1;
      if (child >= n) break;
      if (child + 1 < n && below(best.scores[child + 1], best.classes[child + 1], child)) ++child;
      if (below(s, k, child)) break;
      set(i, best.scores[child], best.classes[child]);
      i = child;
    }
    set(i, s, k);
  }

  void offer(double s, uint32_t k) {
    if (size < best.scores.size()) {
      size_t i = size++;
      for (size_t parent = (i - 1) / 2; i > 0 && below(s, k, parent); i = parent, parent = (i - 1) / 2) {
        set(i, best.scores[parent], best.classes[parent]);
      }
      set(i, s, k);
    } else if (size > 0 && !below(s, k, 0)) {
      sift_down(0, size, s, k);
    }
  }

  void sort() const {
    for (size_t n = size; n-- > 1;) {
      const double s = best.scores[n];
      const uint32_t k = best.classes[n];
      set(n, best.scores[0], best.classes[0]);
      sift_down(0, n, s, k);
    }
  }
};

// log 1 / (1 + exp(-t))
double log_sigmoid(double t) { return std::min(t, 0.0) - std::log1p(std::exp(-std::fabs(t))); }

bool is_finite(const Query& query) {
  return std::all_of(query.value.begin(), query.value.end(), [](float v) { return std::isfinite(v); });
}

bool fits_float(double s) { return std::fabs(s) <= FLT_MAX; }

LogSumExp block_sum(const Kernels& kernels, std::span<const double> scores) {
  LogSumExp out;
  out.sum = kernels.exp_sum(scores.data(), scores.size(), &out.max);
  return out;
}

}  // namespace

Scorer::Scorer(const ModelLayout& layout, const Kernels& kernels) : layout_(layout), kernels_(&kernels) {}

void Scorer::dot(const Query& query, uint64_t first, std::span<float> out) const {
  const size_t d = layout_.features, rows = out.size();
  const float* x = query.value.data();
  if (layout_.weights == WeightKind::Float32) {
    dot_block<float>({layout_.weight_f32.data() + first * d, rows, d, x}, kernels_->dot_f32, query,
                     out.data());
  } else if (layout_.weights == WeightKind::Bfloat16) {
    dot_block<uint16_t>({layout_.weight_bf16.data() + first * d, rows, d, x}, kernels_->dot_bf16, query,
                        out.data());
  } else {
    dot_block<int8_t>({layout_.weight_i8.data() + first * d, rows, d, x}, kernels_->dot_i8, query,
                      out.data());
  }
}

double Scorer::finish(double product, uint64_t k) const {
  double s = product;
  if (!layout_.weight_scale.empty()) s *= layout_.weight_scale[k];
  if (!layout_.bias.empty()) s += layout_.bias[k];
  if (!layout_.log_carrier.empty()) s += layout_.log_carrier[k];
  return s;
}

double Scorer::row_score(const Query& query, uint64_t row) const {
  float product;
  dot(query, row, {&product, 1});
  const double s = finish(static_cast<double>(product), row);
  return fits_float(s) ? s : wide_score(query, row);
}

// s of a row whose sum left float32 on the way, as the products of int8 weights do before they are scaled;
// NaN where s does not fit float32 either.
double Scorer::wide_score(const Query& query, uint64_t row) const {
  double sum = 0;
  for (size_t i = 0; i < query.value.size(); ++i)
    sum +=
        stored_weight(row, query.index == nullptr ? i : query.index[i]) * static_cast<double>(query.value[i]);
  const double s = finish(sum, row);
  return fits_float(s) ? s : NAN;
}

double Scorer::score(const Query& query, uint64_t k) const {
  if (layout_.family != Family::Hierarchical) return row_score(query, k);
  double sum = 0;
  const bool whole = layout_.tree.walk(k, [&](uint32_t row, uint32_t side) {
    const double s = row_score(query, row);
    sum += std::isfinite(s) ? log_sigmoid(side == 1 ? s : -s) : NAN;
  });
  return whole ? sum : NAN;
}

double Scorer::score(const HiddenSum& state, uint64_t k) const {
  const uint64_t at = k * layout_.features;
  if (layout_.weights == WeightKind::Float32)
    return finish(kernels_->hidden_dot_f32(state, layout_.weight_f32.data() + at), k);
  if (layout_.weights == WeightKind::Bfloat16)
    return finish(kernels_->hidden_dot_bf16(state, layout_.weight_bf16.data() + at), k);
  return finish(kernels_->hidden_dot_i8(state, layout_.weight_i8.data() + at), k);
}

void Scorer::prefetch(uint64_t k) const {
  const uint64_t at = k * layout_.features, n = layout_.features;
  if (layout_.weights == WeightKind::Float32) return prefetch_row(layout_.weight_f32.data() + at, n);
  if (layout_.weights == WeightKind::Bfloat16) return prefetch_row(layout_.weight_bf16.data() + at, n);
  prefetch_row(layout_.weight_i8.data() + at, n);
}

// row_score of rows first, first + 1, ... from their products, to the same bits; false if one is not finite.
bool Scorer::finish_block(const Query& query, uint64_t first, std::span<const float> products,
                          double* out) const {
  const size_t n = products.size();
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<double>(products[i]);
  if (!layout_.weight_scale.empty()) {
    for (size_t i = 0; i < n; ++i) out[i] *= layout_.weight_scale[first + i];
  }
  if (!layout_.bias.empty()) {
    for (size_t i = 0; i < n; ++i) out[i] += layout_.bias[first + i];
  }
  if (!layout_.log_carrier.empty()) {
    for (size_t i = 0; i < n; ++i) out[i] += layout_.log_carrier[first + i];
  }
  unsigned good = 1;
  for (size_t i = 0; i < n; ++i) good &= fits_float(out[i]) ? 1u : 0u;
  for (size_t i = 0; good == 0 && i < n; ++i) {
    if (!fits_float(out[i])) out[i] = wide_score(query, first + i);
    if (!fits_float(out[i])) return false;
  }
  return true;
}

bool Scorer::log_sum(const Query& query, LogSumExp* out) const {
  if (layout_.family != Family::Hierarchical) return top(query, {}, out);
  *out = kOne;
  return is_finite(query);
}

bool Scorer::top(const Query& query, Ranked best, LogSumExp* log_sum) const {
  float products[kBlock];
  double scores[kBlock];
  LogSumExp total;
  BestHeap heap{best};
  if (layout_.family == Family::Hierarchical) {
    for (uint32_t k = 0; k < layout_.classes; ++k) {
      const double s = score(query, k);
      if (!std::isfinite(s)) return false;
      heap.offer(s, k);
    }
    heap.sort();
    if (log_sum != nullptr) *log_sum = kOne;
    return true;
  }
  for (uint64_t first = 0; first < layout_.rows(); first += kBlock) {
    const uint64_t n = std::min(kBlock, layout_.rows() - first);
    dot(query, first, {products, n});
    if (!finish_block(query, first, {products, n}, scores)) return false;
    if (log_sum != nullptr) total.merge(block_sum(*kernels_, {scores, n}));
    if (best.scores.empty()) continue;
    for (uint64_t i = 0; i < n; ++i) heap.offer(scores[i], static_cast<uint32_t>(first + i));
  }
  heap.sort();
  if (log_sum != nullptr) *log_sum = total;
  return true;
}

double Scorer::amortised_normalizer(const Query& query) const {
  return network(query, layout_.normalizer, {}, nullptr);
}

double Scorer::network(const Query& query, const NormalizerLayout& b, std::span<const float> extra_weight,
                       const double* extras) const {
  const size_t d = layout_.features;
  float products[kBlock] = {};
  const auto dots = [&](const float* weight, size_t rows) {
    dot_block<float>({weight, rows, d, query.value.data()}, kernels_->dot_f32, query, products);
  };
  double sum = b.intercept[0];
  if (!b.slope.empty()) {
    dots(b.slope.data(), 1);
    sum += static_cast<double>(products[0]);
    products[0] = 0;
  }
  const size_t count = b.output.empty() ? 0 : extra_weight.size() / b.output.size();
  for (size_t first = 0; first < b.output.size(); first += kBlock) {
    const size_t n = std::min<size_t>(kBlock, b.output.size() - first);
    if (!b.hidden_weight.empty()) dots(b.hidden_weight.data() + first * d, n);
    double unit[kBlock];
    for (size_t i = 0; i < n; ++i) unit[i] = static_cast<double>(products[i]) + b.hidden_bias[first + i];
    for (size_t e = 0; e < count; ++e)
      for (size_t i = 0; i < n; ++i) unit[i] += extra_weight[(first + i) * count + e] * extras[e];
    if (!are_finite(unit, n)) return NAN;
    for (size_t i = 0; i < n; ++i) unit[i] = std::max(0.0, unit[i]);
    for (size_t i = 0; i < n; ++i) sum += b.output[first + i] * unit[i];
  }
  return sum;
}

double Scorer::stored_weight(uint64_t k, uint64_t j) const {
  const uint64_t at = k * layout_.features + j;
  if (layout_.weights == WeightKind::Float32) return layout_.weight_f32[at];
  if (layout_.weights == WeightKind::Bfloat16) return widen(layout_.weight_bf16[at]);
  return layout_.weight_i8[at];
}

double Scorer::weight(uint64_t k, uint64_t j) const {
  const double scale = layout_.weights == WeightKind::Int8 ? layout_.weight_scale[k] : 1.0;
  return scale * stored_weight(k, j);
}

double Scorer::row_error_bound(const Query& query, uint64_t k) const {
  double length = 0, magnitude = 0;
  for (size_t i = 0; i < query.value.size(); ++i) {
    const double x = std::fabs(static_cast<double>(query.value[i]));
    length += x;
    magnitude += x * std::fabs(weight(k, query.index == nullptr ? i : query.index[i]));
  }
  double quantisation = 0;
  if (layout_.weights == WeightKind::Bfloat16) quantisation = 0x1p-8 * magnitude + 0x1p-134 * length;
  if (layout_.weights == WeightKind::Int8) quantisation = 0.5 * layout_.weight_scale[k] * length;
  double fixed = magnitude + std::fabs(layout_.log_normalizer);
  if (!layout_.bias.empty()) fixed += std::fabs(layout_.bias[k]);
  if (!layout_.log_carrier.empty()) fixed += std::fabs(layout_.log_carrier[k]);
  const double terms = static_cast<double>(query.value.size()) + 4;
  return quantisation + terms * (0x1p-24 * magnitude + 0x1p-149) + 0x1p-50 * fixed;
}

// |d log sigmoid| <= 1, so the bounds of the path add up.
double Scorer::error_bound(const Query& query, uint64_t k) const {
  if (layout_.family != Family::Hierarchical) return row_error_bound(query, k);
  double sum = 0;
  const bool whole =
      layout_.tree.walk(k, [&](uint32_t row, uint32_t) { sum += row_error_bound(query, row) + 0x1p-50; });
  return whole ? sum : NAN;
}

}  // namespace selfnorm::runtime
