#include "selfnorm/train/regressor_step.h"

#include "selfnorm/base/error.h"
#include "selfnorm/model/regressor/regressor.h"
#include "selfnorm/sampler/box_walls.h"

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
  const std::string& name = parts.options.objective;
  if (name == "mcmc") return make_chain_regressor_step(parts);
  if (name == "sm" || name == "dsm") return make_matching_regressor_step(parts);
  if (name == "mdn") throw Error("objective mdn is the likelihood of the mixture: it has no tilt to train");
  return make_candidate_regressor_step(parts);
}

}  // namespace selfnorm
