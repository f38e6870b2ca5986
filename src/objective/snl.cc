#include "selfnorm/objective/snl.h"

#include <cmath>

#include "selfnorm/math/kernels.h"

namespace selfnorm {

CandidateTerms Snl::operator()(const CandidateScores& x, std::span<double> d_sample) const {
  const ImportanceEstimate z =
      importance_weights(x.sample_score, x.sample_log_q, {x.score, x.sample_hit}, d_sample);
  const double r = std::exp(z.log_z - x.log_normalizer);
  if (std::isfinite(r)) {
    scale(r, d_sample.data(), d_sample.size());
  } else {
    for (double& d : d_sample) d = d == 0 ? 0 : r * d;  // not inf * 0
  }
  return {.likelihood = x.log_normalizer - x.score + r - 1,
          .d_score = (z.target_share > 0 ? r * z.target_share : 0) - 1,
          .d_log_normalizer = 1 - r,
          .estimate = z};
}

}  // namespace selfnorm
