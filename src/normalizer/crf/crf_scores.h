// The scores of one sentence of a CRF: u (T x L), and v (L x L shared by all positions, or T x L x L, of
// which position 0 is not used).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace selfnorm {

template <class Real>
struct BasicCrfScores {
  uint32_t labels = 0;
  uint64_t length = 0;
  std::span<const Real> unary;  // T x L
  std::span<const Real> pair;   // L x L, or T x L x L (has_own_pairs)
  bool has_own_pairs = false;

  const Real* unary_at(uint64_t t) const { return unary.data() + t * labels; }
  const Real* pair_at(uint64_t t) const { return pair.data() + (has_own_pairs ? t * labels * labels : 0); }
};
using CrfScores = BasicCrfScores<float>;

struct Labelling {
  std::vector<uint32_t> labels;
  double score = 0;  // s(x,y)
};

// sum_t u_t(y_t) + sum_{t>=2} v_t(y_{t-1}, y_t), added in the order of t.
template <class Real>
double crf_score(const BasicCrfScores<Real>& scores, std::span<const uint32_t> labels);

// Throws Error where `bytes` of numbers for pairs of labels, which a sentence with bigram attributes takes at
// every position, are more than the machine has.
void require_pair_memory(uint64_t length, uint32_t labels, double bytes);

// Whether none is infinite or NaN of the scores that are used.
template <class Real>
bool are_finite(const BasicCrfScores<Real>& scores);

// Throws Error where a score is infinite or NaN, Bug where the sizes do not agree.
template <class Real>
void check_scores(const BasicCrfScores<Real>& scores);

}  // namespace selfnorm
