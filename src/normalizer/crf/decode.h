// Labellings of a CRF: the best, the n best, the best by marginals, random ones.
#pragma once

#include "math/random.h"
#include "normalizer/crf/lattice.h"

namespace selfnorm {

// delta_t(k) = max_j (delta_{t-1}(j) + v_t(j,k)) + u_t(k), in double precision; ties: the smaller label, of
// the last position first.
template <class Real>
Labelling viterbi(const BasicCrfScores<Real>& scores);
// The n best in decreasing order of score (all of them when there are fewer), by lazy k-best search over the
// Viterbi table [Huang & Chiang 2005, algorithm 3]; the first is that of viterbi, ties in a fixed order.
template <class Real>
std::vector<Labelling> n_best(const BasicCrfScores<Real>& scores, uint64_t n);
// argmax_k p(y_t = k) for every t, ties: the smaller label; `lattice` after backward.
template <class Real>
Labelling posterior_decoding(const BasicCrfScores<Real>& scores, const BasicLattice<Real>& lattice);
// One draw from p(y|x) by backward sampling: y_T ~ alpha_T, y_t ~ alpha_t(.) E_{t+1}(., y_{t+1}); after
// forward.
template <class Real>
Labelling sample_labelling(const BasicCrfScores<Real>& scores, const BasicLattice<Real>& lattice,
                           RandomStream& random);

}  // namespace selfnorm
