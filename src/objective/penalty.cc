#include "selfnorm/objective/penalty.h"

namespace selfnorm {

LossTerms Penalty::operator()(const ExampleScores& x) const {
  const double excess = x.log_z - x.centre;
  return {.likelihood = x.log_z - x.score,
          .penalty = alpha_ * excess * excess,
          .d_score = -1,
          .d_log_z = 1 + 2 * alpha_ * excess,
          .d_centre = -2 * alpha_ * excess};
}

}  // namespace selfnorm
