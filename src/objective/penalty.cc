#include "objective/penalty.h"

#include "objective/registry.h"

namespace selfnorm {

LossTerms Penalty::operator()(const ExampleScores& x) const {
  const double excess = x.log_z - x.centre;
  return {.likelihood = x.log_z - x.score,
          .penalty = alpha_ * excess * excess,
          .d_score = -1,
          .d_log_z = 1 + 2 * alpha_ * excess,
          .d_centre = -2 * alpha_ * excess};
}

LossTerms LevelPenalty::operator()(const ExampleScores& x) const {
  const double excess = x.log_z - x.centre;
  return {.likelihood = 0,
          .penalty = alpha_ * excess * excess,
          .d_score = 0,
          .d_log_z = 2 * alpha_ * excess,
          .d_centre = -2 * alpha_ * excess};
}

ObjectiveEntry penalty_entry() {
  return {.name = "penalty",
          .text = "-log p + alpha (log Z - c)^2",
          .seam = ObjectiveSeam::log_z,
          .offers = {{"classifier", {"alpha", "centre", "learn-centre", "calibrate"}},
                     {"lm", {"alpha", "centre", "learn-centre", "calibrate"}},
                     {"crf", {"alpha", "calibrate"}}},
          .has_centre = true,
          .is_penalised = true,
          .is_head_loss = true,
          .make = [](const ObjectiveOptions& o) { return std::make_unique<Penalty>(o.alpha); }};
}

ObjectiveEntry constraint_entry() {
  return {.name = "constraint",
          .text = "-log p where rms(log Z - c) <= delta",
          .seam = ObjectiveSeam::log_z,
          .offers = {{"classifier", {"delta", "centre", "learn-centre"}}, {"crf", {"delta"}}},
          .has_centre = true,
          .is_constraint = true,
          .make = [](const ObjectiveOptions& o) { return std::make_unique<Penalty>(o.alpha); }};
}

}  // namespace selfnorm
