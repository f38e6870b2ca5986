// The best labellings of a CRF in order.
#pragma once

#include <cstdint>
#include <vector>

#include "normalizer/crf/crf_scores.h"

namespace selfnorm {

// The n best in decreasing order of score (all of them when there are fewer), by lazy k-best search over the
// Viterbi table [Huang & Chiang 2005, algorithm 3]; the first is that of viterbi, ties in a fixed order.
template <class Real>
std::vector<Labelling> n_best(const BasicCrfScores<Real>& scores, uint64_t n);

}  // namespace selfnorm
