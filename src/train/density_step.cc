#include "selfnorm/train/density_step.h"

#include <fmt/format.h>

#include "selfnorm/base/error.h"
#include "selfnorm/objective/registry.h"

namespace selfnorm {

std::unique_ptr<DensityStep> make_density_step(DensityProblem& problem) {
  switch (objective_entry(problem.options().objective).seam) {
    case ObjectiveSeam::candidates:
      return make_candidate_density_step(problem);
    case ObjectiveSeam::chains:
      return make_chain_step(problem);
    case ObjectiveSeam::conditionals:
      return make_pseudo_likelihood_step(problem);
    case ObjectiveSeam::matching:
      return make_matching_step(problem);
    default:
      throw Error(fmt::format("objective {} trains no energy", problem.options().objective));
  }
}

}  // namespace selfnorm
