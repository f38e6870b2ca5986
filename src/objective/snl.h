// snl, the self-normalised likelihood [SNL] (theory.md 3): maximise
//     s_y - b - r + 1,   r = Z_hat exp(-b),   Z_hat and the shares as in candidate.h.
//     d loss/ds = r share_y - 1,   d/ds_j = r share_j,   d/db = 1 - r.
// Z_hat enters linearly, so value and gradient are unbiased for any b; the expectation is a lower bound of
// the log-likelihood because A <= b + exp(A - b) - 1, with equality at b = A. With b = 0 the scores
// themselves become log-probabilities (the objective of Kaldi's RNNLM). Too large a b is harmless; too small
// a b makes r huge. Up to log r = 709 everything is finite; beyond it loss, d/db and the derivatives of
// samples with a positive share are infinite (never NaN), and training stops with the last good model.
#pragma once

#include "objective/candidate.h"

namespace selfnorm {

struct ObjectiveEntry;

class Snl final : public CandidateObjective {
 public:
  CandidateTerms operator()(const CandidateScores& x, std::span<double> d_sample) const override;
  CandidateTerms pooled(const PooledScores& x, std::span<double> d_score,
                        std::span<double> d_sample) const override;
};

// In the registry.
ObjectiveEntry snl_entry();

}  // namespace selfnorm
