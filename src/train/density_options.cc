#include "selfnorm/train/density_options.h"

#include "selfnorm/base/error.h"
#include "selfnorm/base/range.h"
#include "selfnorm/model/energy/make_energy.h"
#include "selfnorm/optim/schedule.h"

namespace selfnorm {

std::vector<std::string> density_objective_names() {
  return {"snl", "is", "nce", "ranking-nce", "cd", "pcd", "dsm", "ssm", "sm", "pseudo-likelihood", "fit"};
}

void DensityOptions::validate() const {
  require_one_of("objective", objective, density_objective_names());
  require_one_of("base", base, {"auto", "proposal", "none"});
  require_one_of("normalizer", normalizer, {"learned", "zero"});
  require_one_of("learn-proposal", learn_proposal, {"none", "data", "kl", "both"});
  require_one_of("optimiser", optimiser, {"auto", "adam"});
  require_one_of("schedule", schedule, schedule_names());
  require_one_of("space", space, {"auto", "real", "binary", "categorical", "counts"});
  if (energy != "auto") check_energy_word(energy);
  if (proposal != "auto") check_density_word(proposal);
  mlp.validate();
  require_range(samples >= 1 && samples <= 10'000'000, "samples", static_cast<double>(samples), "1 to 1e7");
  require_range(steps >= 1, "steps", static_cast<double>(steps), "1 or more");
  require_range(batch >= 1 && batch <= 10'000'000, "batch", static_cast<double>(batch), "1 to 1e7");
  require_range(learning_rate > 0, "learning-rate", learning_rate, "a number > 0");
  require_range(normalizer_rate > 0, "normalizer-rate", normalizer_rate, "a number > 0");
  require_range(clip > 0, "clip", clip, "a number > 0");
  require_range(weight_decay >= 0, "weight-decay", weight_decay, "0 or more");
  require_range(drift > 0, "drift", drift, "a number > 0");
  require_range(langevin_steps >= 1, "langevin-steps", static_cast<double>(langevin_steps), "1 or more");
  require_range(langevin_step > 0, "langevin-step", langevin_step, "a number > 0");
  require_range(noise > 0, "noise", noise, "a number > 0");
  require_range(slices >= 1, "slices", static_cast<double>(slices), "1 or more");
  require_range(fit.defensive >= 0 && fit.defensive <= 0.5, "defensive", fit.defensive, "0 to 0.5");
  require_range(fit.defensive_scale > 0, "defensive-scale", fit.defensive_scale, "a number > 0");
  require_range(fit.scale > 0, "proposal-scale", fit.scale, "a number > 0");
  if (lower.size() != upper.size()) throw Error("lower and upper need as many numbers as each other");
  for (size_t j = 0; j < lower.size(); ++j)
    if (!(lower[j] < upper[j])) throw Error("lower has to be below upper in every column");
}

}  // namespace selfnorm
