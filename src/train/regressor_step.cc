#include "selfnorm/train/regressor_step.h"

#include "selfnorm/base/error.h"

namespace selfnorm {

void base_log_prob(const RegressorParts& parts, const MixturePoints& at, std::span<double> out) {
  if (parts.options.base == "broad") return parts.mixture.log_prob(at, {}, out);
  std::vector<double> log_g(out.size());
  parts.mixture.log_prob(at, out, log_g);
  for (size_t i = 0; i < out.size(); ++i) out[i] = broadened(out[i], log_g[i], parts.options.tail_weight);
}

std::unique_ptr<RegressorStep> make_regressor_step(const RegressorParts& parts) {
  const std::string& name = parts.options.objective;
  if (name == "mcmc") return make_chain_regressor_step(parts);
  if (name == "sm" || name == "dsm") return make_matching_regressor_step(parts);
  if (name == "mdn") throw Error("objective mdn is the likelihood of the mixture: it has no tilt to train");
  return make_candidate_regressor_step(parts);
}

}  // namespace selfnorm
