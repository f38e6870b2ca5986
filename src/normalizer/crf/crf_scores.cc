#include "normalizer/crf/crf_scores.h"

#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "base/memory.h"
#include "math/crf_kernels.h"

namespace selfnorm {
namespace {

// The first position has no pair before it.
template <class Real>
std::span<const Real> used_pairs(const BasicCrfScores<Real>& scores) {
  const uint64_t square = uint64_t{scores.labels} * scores.labels;
  return scores.pair.subspan(scores.has_own_pairs ? std::min<uint64_t>(square, scores.pair.size()) : 0);
}

template <class Real>
void check_finite(std::span<const Real> x, const char* what, uint64_t row) {
  if (all_finite(x.data(), x.size())) return;
  const auto bad = std::find_if(x.begin(), x.end(), [](Real s) { return !std::isfinite(s); });
  const auto at = static_cast<uint64_t>(bad - x.begin());
  throw_error(
      "chain: {} score {} of position {} is {}, expected a finite number; forbid a label or a transition "
      "with a large negative score such as -1e4, and train with a smaller step or a stronger regulariser",
      what, at % row, at / row + 1, *bad);
}

}  // namespace

template <class Real>
double crf_score(const BasicCrfScores<Real>& scores, std::span<const uint32_t> labels) {
  SELFNORM_CHECK(labels.size() == scores.length);
  double sum = 0;
  for (uint64_t t = 0; t < scores.length; ++t) {
    SELFNORM_CHECK(labels[t] < scores.labels);
    if (t > 0)
      sum += static_cast<double>(scores.pair_at(t)[labels[t - 1] * uint64_t{scores.labels} + labels[t]]);
    sum += static_cast<double>(scores.unary_at(t)[labels[t]]);
  }
  return sum;
}

void require_pair_memory(uint64_t length, uint32_t labels, double bytes) {
  require_memory(
      bytes,
      fmt::format("{0} x {0} scores for pairs of labels at every position of a sentence of {1}", labels,
                  length),
      "cut the sentence into shorter ones, or leave out the bigram attributes, all but the plain template B");
}

template <class Real>
void check_scores(const BasicCrfScores<Real>& scores) {
  const uint64_t row = scores.labels, square = row * row;
  SELFNORM_CHECK(row > 0 && scores.unary.size() == scores.length * row);
  SELFNORM_CHECK(scores.pair.size() == (scores.has_own_pairs ? scores.length * square : square));
  check_finite(scores.unary, "unary", row);
  check_finite(used_pairs(scores), "pair", square);
}

template <class Real>
bool are_finite(const BasicCrfScores<Real>& scores) {
  const std::span<const Real> pairs = used_pairs(scores);
  return all_finite(scores.unary.data(), scores.unary.size()) && all_finite(pairs.data(), pairs.size());
}

template double crf_score(const BasicCrfScores<float>&, std::span<const uint32_t>);
template double crf_score(const BasicCrfScores<double>&, std::span<const uint32_t>);
template bool are_finite(const BasicCrfScores<float>&);
template bool are_finite(const BasicCrfScores<double>&);
template void check_scores(const BasicCrfScores<float>&);
template void check_scores(const BasicCrfScores<double>&);

}  // namespace selfnorm
