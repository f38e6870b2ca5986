#include <cmath>

#include "selfnorm/base/error.h"
#include "selfnorm/train/adaptive_checkpoint.h"
#include "selfnorm/train/regressor_member.h"

namespace selfnorm {

void RegressorMember::save(Checkpoint& c) const {
  c.set("step", at_);
  c.set("theta", theta_);
  c.set("average", average_);
  c.set("best", best_);
  c.set("best.step", best_step_);
  c.set("best.check", best_check_.value_or(std::nan("")));
  c.set("stale", stale_);
  c.set("stopped", uint64_t{stopped_});
  c.set("is_diverged", uint64_t{diverged_});
  c.set("loss", loss_sum_);
  c.set("loss.count", loss_count_);
  c.set("gradient_norm", gradient_norm_);
  save_adaptive(optimiser_, "optimiser", c);
}

void RegressorMember::restore(const Checkpoint& c) {
  at_ = c.integer("step");
  c.get("theta", theta_);
  c.get("average", average_);
  c.get("best", best_);
  if (theta_.size() != parameters_.size() || average_.size() != theta_.size() ||
      best_.size() != theta_.size())
    throw Error("the checkpoint has another number of parameters");
  best_step_ = c.integer("best.step");
  const double best = c.number("best.check");
  best_check_ = std::isnan(best) ? std::nullopt : std::optional(best);
  stale_ = c.integer("stale");
  stopped_ = c.integer("stopped") != 0;
  diverged_ = c.has("is_diverged") && c.integer("is_diverged") != 0;  // none in older ones
  loss_sum_ = c.number("loss");
  loss_count_ = c.integer("loss.count");
  gradient_norm_ = c.number("gradient_norm");
  restore_adaptive(c, "optimiser", optimiser_);
  parameters_.scatter(theta_);
  networks_.parameters_changed();
}

}  // namespace selfnorm
