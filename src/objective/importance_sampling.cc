#include "selfnorm/objective/importance_sampling.h"

namespace selfnorm {

CandidateTerms ImportanceSampling::operator()(const CandidateScores& x, std::span<double> d_sample) const {
  const ImportanceEstimate z =
      importance_weights(x.sample_score, x.sample_log_q, {x.score, x.sample_hit}, d_sample);
  return {
      .likelihood = z.log_z - x.score, .d_score = z.target_share - 1, .d_log_normalizer = 0, .estimate = z};
}

}  // namespace selfnorm
