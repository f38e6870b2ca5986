#include "selfnorm/runtime/crf_scorer.h"

#include "crf_pass.h"
#include "selfnorm/runtime/attribute_sum.h"

namespace selfnorm::runtime {
namespace {

AttributeList attributes_at(const selfnorm_attribute_rows& rows, size_t t) {
  if (rows.begin == nullptr || rows.begin[t] == rows.begin[t + 1]) return {nullptr, nullptr, 0};
  const size_t first = rows.begin[t];
  return {rows.number + first, rows.value == nullptr ? nullptr : rows.value + first,
          rows.begin[t + 1] - first};
}

}  // namespace

CrfScorer::CrfScorer(const CrfLayout& layout, const Kernels& kernels)
    : layout_(layout), kernels_(&kernels.crf) {}

size_t CrfScorer::workspace(size_t positions) const { return CrfPass::bytes(layout_, positions); }

// sum_t u_t(y_t) + sum_{t>=2} v_t(y_{t-1}, y_t)
double CrfScorer::score(const selfnorm_sentence& x, const uint32_t* labels) const {
  const size_t n = layout_.labels;
  double sum = 0;
  for (size_t t = 0; t < x.positions; ++t) {
    sum += static_cast<double>(layout_.bias[labels[t]]) +
           attribute_sum(attributes_at(x.unigram, t), layout_.weight.data(), n, labels[t]);
    if (t == 0) continue;
    const size_t pair = labels[t - 1] * n + labels[t];
    if (!layout_.transition.empty()) sum += static_cast<double>(layout_.transition[pair]);
    sum += attribute_sum(attributes_at(x.bigram, t), layout_.pair.data(), n * n, pair);
  }
  return sum;
}

double CrfScorer::amortised_normalizer(const selfnorm_sentence& x) const {
  const CrfNormalizerLayout& b = layout_.normalizer;
  double sum = b.per_sentence + b.per_position * static_cast<double>(x.positions);
  if (b.slope.empty() || x.unigram.begin == nullptr) return sum;
  for (size_t t = 0; t < x.positions; ++t)
    sum += attribute_sum(attributes_at(x.unigram, t), b.slope.data(), 1, 0);
  return sum;
}

// delta_1(k) = u_1(k),   delta_t(k) = max_j (delta_{t-1}(j) + v_t(j,k)) + u_t(k), in double, and the first j
// that has it; the best path is followed back from the first k of the largest delta_T(k).
bool CrfScorer::best_labels(const selfnorm_sentence& x, void* memory, uint32_t* labels) const {
  CrfPass pass(layout_, *kernels_, x, memory);
  const size_t n = pass.labels;
  auto* from = reinterpret_cast<uint32_t*>(pass.alpha);  // T x L
  double *delta = pass.row[0], *before = pass.row[1];
  for (size_t t = 0; t < pass.length; ++t) {
    std::swap(delta, before);
    std::fill_n(delta, n, 0.0);
    if (t > 0) {
      const float* v = pass.pair(t);
      if (v == nullptr) return false;
      pass.kernels.max_plus(before, v, n, delta, from + t * n);
    }
    const float* u = pass.unary(t);
    if (u == nullptr) return false;
    for (size_t k = 0; k < n; ++k) delta[k] += static_cast<double>(u[k]);
  }
  if (pass.length == 0) return true;
  auto label = static_cast<uint32_t>(std::max_element(delta, delta + n) - delta);
  for (size_t t = pass.length - 1; t > 0; --t) {
    labels[t] = label;
    label = from[t * n + label];
  }
  labels[0] = label;
  return true;
}

}  // namespace selfnorm::runtime
