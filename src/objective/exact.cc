#include "selfnorm/objective/exact.h"

namespace selfnorm {

LossTerms Exact::operator()(const ExampleScores& x) const {
  return {.likelihood = x.log_z - x.score, .penalty = 0, .d_score = -1, .d_log_z = 1, .d_centre = 0};
}

}  // namespace selfnorm
