#include "objective/exact.h"

#include "objective/registry.h"

namespace selfnorm {

LossTerms Exact::operator()(const ExampleScores& x) const {
  return {.likelihood = x.log_z - x.score, .penalty = 0, .d_score = -1, .d_log_z = 1, .d_centre = 0};
}

ObjectiveEntry exact_entry() {
  return {.name = "exact",
          .text = "-log p",
          .seam = ObjectiveSeam::log_z,
          .offers = {{"classifier", {}}, {"lm", {}}, {"crf", {}}},
          .is_head_loss = true,
          .make = [](const ObjectiveOptions&) { return std::make_unique<Exact>(); }};
}

}  // namespace selfnorm
