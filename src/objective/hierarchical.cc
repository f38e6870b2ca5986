#include "selfnorm/objective/hierarchical.h"

#include "selfnorm/math/sigmoid.h"

namespace selfnorm {

DecisionTerms decision(double score, uint32_t side) {
  return {.likelihood = softplus(side == 1 ? -score : score), .d_score = sigmoid(score) - side};
}

}  // namespace selfnorm
