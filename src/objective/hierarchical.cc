#include "objective/hierarchical.h"

#include "math/sigmoid.h"
#include "objective/registry.h"

namespace selfnorm {

DecisionTerms decision(double score, uint32_t side) {
  return {.likelihood = softplus(side == 1 ? -score : score), .d_score = sigmoid(score) - side};
}

ObjectiveEntry hierarchical_entry() {
  return {.name = "hierarchical",
          .text = "a tree of decisions, with an encoder",
          .seam = ObjectiveSeam::tree,
          .offers = {{"classifier", {}}, {"lm", {}}}};
}

}  // namespace selfnorm
