#include "selfnorm/train/regressor_step.h"

#include "selfnorm/base/error.h"
#include "selfnorm/model/regressor/regressor.h"
#include "selfnorm/normalizer/box_walls.h"
#include "selfnorm/objective/registry.h"

namespace selfnorm {

void base_log_prob(const RegressorParts& parts, const MixturePoints& at, std::span<double> out) {
  base_log_prob(parts.mixture, parts.options.base == "broad" ? 1 : parts.options.tail_weight, at, out);
}

float reflected(const ConditionalMixture& mixture, double y, uint32_t j) {
  double velocity = 0;
  return mixture.within(
      static_cast<double>(
          BoxWalls(Support::box(mixture.shape().lower, mixture.shape().upper)).reflect(j, y, velocity)),
      j);
}

std::unique_ptr<RegressorStep> make_regressor_step(const RegressorParts& parts) {
  switch (objective_entry(parts.options.objective).seam) {
    case ObjectiveSeam::candidates:
      return make_candidate_regressor_step(parts);
    case ObjectiveSeam::chains:
      return make_chain_regressor_step(parts);
    case ObjectiveSeam::matching:
      return make_matching_regressor_step(parts);
    default:
      throw Error("objective mdn is the likelihood of the mixture: it has no tilt to train");
  }
}

}  // namespace selfnorm
