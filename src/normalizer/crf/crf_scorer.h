// u and v of a sentence under the parameters of a CRF model (model/crf/crf_model.h), in room that is
// kept.
#pragma once

#include <span>
#include <vector>

#include "data/sentences/sequences.h"
#include "model/crf/crf_model.h"
#include "normalizer/crf/crf_scores.h"
#include "normalizer/crf/lattice.h"

namespace selfnorm {

template <class Real>
class BasicCrfScorer {
 public:
  BasicCrfScorer(const CrfShape& shape, std::span<const Real> theta);  // keeps the view
  BasicCrfScores<Real> operator()(const Sequences& data, uint64_t sentence);
  // s(x,y) of the sentence's own labels alone, in double from the weights, O(T): the raw score, which differs
  // from crf_score by the rounding of u and v. The labels are there.
  double target_score(const Sequences& data, uint64_t sentence) const;

 private:
  CrfShape shape_;
  std::span<const Real> theta_;
  std::vector<Real> unary_, pair_;
};
using CrfScorer = BasicCrfScorer<float>;

// The factors of M, which all sentences share, for Lattice::forward; of 0 without transitions.
template <class Real>
PairFactors<Real> transition_factors(const CrfShape& shape, std::span<const Real> theta);

}  // namespace selfnorm
