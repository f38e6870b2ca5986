// Labellings of a chain: the best, the n best, the best by marginals, random ones.
#pragma once

#include <cstdint>
#include <vector>

#include "selfnorm/math/random.h"
#include "selfnorm/normalizer/chain/lattice.h"

namespace selfnorm {

struct Labelling {
  std::vector<uint32_t> labels;
  double score = 0;  // s(x,y)
};

// delta_t(k) = u_t(k) + max_j delta_{t-1}(j) + v_t(j,k); ties: the smaller label.
Labelling viterbi(const ChainScores& scores);
// The n best in decreasing order of score (fewer when there are fewer), by lazy k-best search backwards over
// the Viterbi table [Huang & Chiang 2005]; ties in a fixed order.
std::vector<Labelling> n_best(const ChainScores& scores, uint64_t n);
// argmax_k p(y_t = k) for every t; `lattice` after backward.
Labelling posterior_decoding(const ChainScores& scores, const Lattice& lattice);
// One draw from p(y|x) by backward sampling: y_T ~ alpha_T, y_t ~ alpha_t(.) E_{t+1}(., y_{t+1}); after
// forward.
Labelling sample_labelling(const ChainScores& scores, const Lattice& lattice, RandomStream& random);

}  // namespace selfnorm
