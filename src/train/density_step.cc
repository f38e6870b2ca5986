#include "selfnorm/train/density_step.h"

#include "selfnorm/objective/registry.h"

namespace selfnorm {

std::unique_ptr<DensityStep> make_density_step(DensityProblem& problem) {
  const std::string& name = problem.options().objective;
  if (is_candidate_objective(name)) return make_candidate_density_step(problem);
  if (name == "cd" || name == "pcd") return make_chain_step(problem);
  if (name == "pseudo-likelihood") return make_pseudo_likelihood_step(problem);
  return make_matching_step(problem);
}

}  // namespace selfnorm
