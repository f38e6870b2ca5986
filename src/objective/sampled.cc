#include "selfnorm/objective/sampled.h"

namespace selfnorm {

LossTerms Sampled::operator()(const ExampleScores& x) const {
  LossTerms terms{.likelihood = -x.score, .penalty = 0, .d_score = -1, .d_log_z = 0, .d_centre = 0};
  if (x.normalised) {
    terms.penalty = alpha_ / x.fraction * x.log_z * x.log_z;
    terms.d_log_z = 2 * alpha_ / x.fraction * x.log_z;
  }
  return terms;
}

}  // namespace selfnorm
