#include "selfnorm/runtime/chain_scorer.h"

#include "chain_pass.h"

namespace selfnorm::runtime {
namespace {

// Column `at` of a matrix with rows of `width`, one for each attribute.
struct Column {
  std::span<const float> matrix;
  size_t width, at;
};

// sum_i value_i matrix[number_i][at] over the attributes at t
double cell_sum(const selfnorm_attribute_rows& rows, size_t t, const Column& column) {
  double sum = 0;
  if (rows.begin == nullptr) return sum;
  for (size_t i = rows.begin[t]; i < rows.begin[t + 1]; ++i) {
    const double value = rows.value == nullptr ? 1 : static_cast<double>(rows.value[i]);
    sum += value * static_cast<double>(column.matrix[rows.number[i] * column.width + column.at]);
  }
  return sum;
}

}  // namespace

ChainScorer::ChainScorer(const ChainLayout& layout, const Kernels& kernels)
    : layout_(layout), kernels_(&kernels.chain) {}

size_t ChainScorer::workspace(size_t positions) const { return ChainPass::bytes(layout_, positions); }

// sum_t u_t(y_t) + sum_{t>=2} v_t(y_{t-1}, y_t)
double ChainScorer::score(const selfnorm_sentence& x, const uint32_t* labels) const {
  const size_t n = layout_.labels;
  double sum = 0;
  for (size_t t = 0; t < x.positions; ++t) {
    sum +=
        static_cast<double>(layout_.bias[labels[t]]) + cell_sum(x.unigram, t, {layout_.weight, n, labels[t]});
    if (t == 0) continue;
    const size_t pair = labels[t - 1] * n + labels[t];
    if (!layout_.transition.empty()) sum += static_cast<double>(layout_.transition[pair]);
    sum += cell_sum(x.bigram, t, {layout_.pair, n * n, pair});
  }
  return sum;
}

double ChainScorer::amortised_normalizer(const selfnorm_sentence& x) const {
  const ChainNormalizerLayout& b = layout_.normalizer;
  double sum = b.per_sentence + b.per_position * static_cast<double>(x.positions);
  if (b.slope.empty()) return sum;
  for (size_t t = 0; t < x.positions; ++t) sum += cell_sum(x.unigram, t, {b.slope, 1, 0});
  return sum;
}

// delta_1(k) = u_1(k),   delta_t(k) = max_j (delta_{t-1}(j) + v_t(j,k)) + u_t(k), in double, and the first j
// that has it; the best path is followed back from the first k of the largest delta_T(k).
bool ChainScorer::best_labels(const selfnorm_sentence& x, void* memory, uint32_t* labels) const {
  ChainPass pass(layout_, *kernels_, x, memory);
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
