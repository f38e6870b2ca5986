// ranking-nce, also sampled softmax with log q correction (Jozefowicz et al. 2016, Ma & Collins 2018;
// theory.md 3): the target's share among the target and k noise classes. With a = s - log q, maximise
//     a_y - log( exp a_y + sum_j exp a_j ),   p_i the softmax of these k + 1 numbers.
//     d loss/ds = p_y - 1,   d/ds_j = p_j,   d/db = 0.
// A constant added to all scores cancels: the right p(y|x) is found, but log Z(x) is left free. Finite for
// all finite scores.
#pragma once

#include "objective/candidate.h"

namespace selfnorm {

struct ObjectiveEntry;

class RankingNce final : public CandidateObjective {
 public:
  CandidateTerms operator()(const CandidateScores& x, std::span<double> d_sample) const override;
  CandidateTerms pooled(const PooledScores& x, std::span<double> d_score,
                        std::span<double> d_sample) const override;
};

// In the registry.
ObjectiveEntry ranking_nce_entry();

}  // namespace selfnorm
