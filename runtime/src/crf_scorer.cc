#include "selfnorm/runtime/crf_scorer.h"

#include <cstring>
#include <utility>

#include "selfnorm/runtime/crf_lattice.h"

namespace selfnorm::runtime {
namespace {

constexpr size_t kAlignment = 64;

// Whether none of x_1 .. x_n is infinite or NaN: no exponent has all its bits.
bool all_finite(const float* x, size_t n) {
  uint32_t bad = 0;
  for (size_t i = 0; i < n; ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, x + i, sizeof bits);
    bad |= static_cast<uint32_t>((bits & 0x7f800000u) == 0x7f800000u);
  }
  return bad == 0;
}

AttributeList attributes_at(const selfnorm_attribute_rows& rows, size_t t) {
  if (rows.begin == nullptr || rows.begin[t] == rows.begin[t + 1]) return {nullptr, nullptr, 0};
  const size_t first = rows.begin[t];
  return {rows.number + first, rows.value == nullptr ? nullptr : rows.value + first,
          rows.begin[t + 1] - first};
}

// Where some position has a v_t of its own.
bool needs_pair(const CrfLayout& layout) { return layout.bigrams.size > 0 || layout.transition.empty(); }

// The Room of crf_lattice.h in memory of the caller: scores are computed a position at a time, those of the
// one labelling that is asked for (`labels`, may be null) are kept.
class CrfRoom {
 public:
  using Real = double;

  CrfRoom(const CrfLayout& layout, const CrfKernels& kernels, const selfnorm_sentence& x, void* memory,
          const uint32_t* labels = nullptr)
      : layout_(layout), kernels_(kernels), x_(x), wanted_(labels), stride_(padded(layout.labels)) {
    const size_t n = layout.labels, length = x.positions;
    const size_t beyond = reinterpret_cast<uintptr_t>(memory) % kAlignment;
    auto* next =
        reinterpret_cast<double*>(static_cast<std::byte*>(memory) + (beyond == 0 ? 0 : kAlignment - beyond));
    const auto take = [&next](size_t count) { return std::exchange(next, next + count); };
    alpha_ = take(length * stride_);
    unary_factor_ = take(length * stride_);
    pair_factor_ = take(n * stride_);
    row_ = take(3 * stride_);
    shift_ = reinterpret_cast<PositionShift*>(take(3 * length));
    picked_ = reinterpret_cast<float*>(take(length));
    unary_ = reinterpret_cast<float*>(take((n + 1) / 2));
    pair_ = reinterpret_cast<float*>(next);
  }

  static size_t bytes(const CrfLayout& layout, size_t positions) {
    __extension__ typedef unsigned __int128 Wide;
    const Wide labels = layout.labels, stride = padded(layout.labels), length = positions;
    Wide doubles = (2 * stride + 4) * length + (labels + 3) * stride + (labels + 1) / 2;
    if (needs_pair(layout)) doubles += (labels * labels + 1) / 2;
    const Wide total = doubles * sizeof(double) + kAlignment - 1;
    return total > SIZE_MAX ? SIZE_MAX : static_cast<size_t>(total);
  }

  size_t labels() const { return layout_.labels; }
  size_t stride() const { return stride_; }
  size_t length() const { return x_.positions; }

  const float* unary(size_t t) {
    kernels_.add_rows(rows(x_.unigram, t, layout_.bias, layout_.weight), unary_);
    if (wanted_ != nullptr) picked_[2 * t] = unary_[wanted_[t]];
    return all_finite(unary_, labels()) ? unary_ : nullptr;
  }
  const float* pair(size_t t) {
    const size_t square = labels() * labels();
    const float* v = pair_;
    if (has_shared_pair(t) && !layout_.transition.empty()) {
      v = layout_.transition.data();
      is_checked_ = is_checked_ || all_finite(v, square);
      if (!is_checked_) return nullptr;
    } else {
      RowSum sum = rows(x_.bigram, t, layout_.transition, layout_.pair);
      sum.width = square;
      kernels_.add_rows(sum, pair_);
      if (!all_finite(pair_, square)) return nullptr;
    }
    if (wanted_ != nullptr) picked_[2 * t + 1] = v[wanted_[t - 1] * labels() + wanted_[t]];
    return v;
  }
  float unary_score(size_t t, size_t) const { return picked_[2 * t]; }
  float pair_score(size_t t, size_t j, size_t k) const {
    if (!has_shared_pair(t)) return picked_[2 * t + 1];
    return layout_.transition.empty() ? 0 : layout_.transition[j * labels() + k];
  }

  // E_t is computed again only where v_t changes.
  bool load_pair(size_t t) {
    const bool is_shared = has_shared_pair(t);
    if (is_shared && holds_shared_) return true;
    const float* v = pair(t);
    if (v == nullptr) return false;
    const size_t n = labels();
    pair_max_ = static_cast<double>(*std::max_element(v, v + n * n));
    for (size_t j = 0; j < n; ++j) kernels_.exp_shifted(v + j * n, n, pair_max_, pair_factor_ + j * stride_);
    holds_shared_ = is_shared;
    return true;
  }
  double pair_max() const { return pair_max_; }
  bool minds_narrow() const { return true; }

  double exp_unary(const float* u, double* e) const {
    const auto max = static_cast<double>(*std::max_element(u, u + labels()));
    kernels_.exp_shifted(u, labels(), max, e);
    return max;
  }
  SumLeast forward_product(const double* x, const double* factor, double* out) const {
    return kernels_.scaled_product(labels(), x, pair_factor_, factor, out);
  }
  void backward_product(const double* x, double* out) const { kernels_.dots(labels(), pair_factor_, x, out); }
  double products(double a, const double* x, const double* y, double* out) const {
    return kernels_.products(labels(), a, x, y, out);
  }
  void scale(double a, double* x) const {
    for (size_t k = 0; k < stride_; ++k) x[k] *= a;
  }
  LogSumExp exp_in_place(double* x) const {
    LogSumExp out{*std::max_element(x, x + labels()), 0};
    for (size_t k = 0; k < labels(); ++k) out.sum += x[k] = std::exp(x[k] - out.max);
    return out;
  }
  void max_plus(const double* x, const float* v, double* best, uint32_t* from) const {
    kernels_.max_plus(x, v, labels(), best, from);
  }

  LatticeState& state() { return state_; }
  PositionShift& shift(size_t t) const { return shift_[t]; }
  double* alpha(size_t t) const { return alpha_ + t * stride_; }
  double* factor(size_t t) const { return unary_factor_ + t * stride_; }
  double* row(size_t i) const { return row_ + i * stride_; }
  double* prefix(size_t t) const { return alpha(t); }
  double* log_row(size_t i) const { return row(i); }
  double* marginal(size_t t) const { return marginals == nullptr ? nullptr : marginals + t * labels(); }
  double* log_marginal(size_t t) const { return marginal(t); }
  double* delta(size_t t) const { return row(t % 2); }
  uint32_t* from(size_t t) const { return reinterpret_cast<uint32_t*>(alpha_) + t * labels(); }

  double* marginals = nullptr;  // T x L, or null

 private:
  // No attributes meet the pair of labels at t.
  bool has_shared_pair(size_t t) const {
    return x_.bigram.begin == nullptr || x_.bigram.begin[t] == x_.bigram.begin[t + 1];
  }
  RowSum rows(const selfnorm_attribute_rows& list, size_t t, std::span<const float> init,
              std::span<const float> matrix) const {
    const AttributeList at = attributes_at(list, t);
    const size_t readable = at.count == 0 ? 0 : list.begin[length()] - list.begin[t];
    return {init.data(), matrix.data(), labels(), at.number, at.value, at.count, readable};
  }

  const CrfLayout& layout_;
  const CrfKernels& kernels_;
  const selfnorm_sentence& x_;
  const uint32_t* wanted_;
  size_t stride_;
  double *alpha_ = nullptr, *unary_factor_ = nullptr;  // T rows
  double *pair_factor_ = nullptr, *row_ = nullptr;     // L rows; 3 rows
  PositionShift* shift_ = nullptr;                     // T
  float* picked_ = nullptr;                            // T x (u_t(y_t), v_t(y_{t-1}, y_t))
  float *unary_ = nullptr, *pair_ = nullptr;
  double pair_max_ = 0;
  LatticeState state_;
  bool is_checked_ = false, holds_shared_ = false;
};

}  // namespace

CrfScorer::CrfScorer(const CrfLayout& layout, const Kernels& kernels)
    : layout_(layout), kernels_(&kernels.crf) {}

size_t CrfScorer::workspace(size_t positions) const { return CrfRoom::bytes(layout_, positions); }

double CrfScorer::score(const selfnorm_sentence& x, const uint32_t* labels) const {
  const CrfWeights<float> weights{layout_.labels, layout_.bias.data(), layout_.weight.data(),
                                  layout_.transition.data(), layout_.pair.data()};
  return labelling_score(weights, {labels, x.positions}, [&](size_t t) {
    return PositionAttributes{attributes_at(x.unigram, t), attributes_at(x.bigram, t)};
  });
}

double CrfScorer::amortised_normalizer(const selfnorm_sentence& x) const {
  const CrfNormalizerLayout& b = layout_.normalizer;
  double sum = b.per_sentence + b.per_position * static_cast<double>(x.positions);
  if (b.slope.empty() || x.unigram.begin == nullptr) return sum;
  for (size_t t = 0; t < x.positions; ++t)
    sum += attribute_sum(attributes_at(x.unigram, t), b.slope.data(), 1, 0);
  return sum;
}

double CrfScorer::log_normalizer(const selfnorm_sentence& x, void* memory) const {
  CrfRoom room(layout_, *kernels_, x, memory);
  return crf_forward(room);
}

double CrfScorer::exact_log_prob(const selfnorm_sentence& x, void* memory, const uint32_t* labels) const {
  CrfRoom room(layout_, *kernels_, x, memory, labels);
  const double log_z = crf_forward(room);
  return std::isfinite(log_z) ? crf_log_prob(room, labels) : std::numeric_limits<double>::quiet_NaN();
}

bool CrfScorer::best_labels(const selfnorm_sentence& x, void* memory, uint32_t* labels) const {
  CrfRoom room(layout_, *kernels_, x, memory);
  if (!crf_viterbi(room)) return false;
  crf_best_path(room, labels);
  return true;
}

bool CrfScorer::marginals(const selfnorm_sentence& x, void* memory, double* out) const {
  CrfRoom room(layout_, *kernels_, x, memory);
  room.marginals = out;
  if (!std::isfinite(crf_forward(room))) return false;
  crf_backward(room);
  return true;
}

}  // namespace selfnorm::runtime
