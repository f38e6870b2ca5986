#include "selfnorm/train/validation.h"

#include <algorithm>
#include <cmath>

#include "selfnorm/model/normalizer_network.h"
#include "selfnorm/objective/candidate_registry.h"
#include "selfnorm/objective/exact.h"
#include "selfnorm/objective/loss.h"

namespace selfnorm {

template <class Real>
Validation<Real>::Validation(const LoopInput& input) {
  if (input.valid == nullptr) return;
  pass_ = make_exact_pass<Real>(*input.valid, input.features, input.classes, input.options.log_carrier);
  const ObjectiveOptions& objective = input.options.objective;
  alpha_ = objective.name == "penalty" ? objective.alpha : 0;
  const bool normalises =
      objective.name == "penalty" || objective.name == "sampled" || is_candidate_objective(objective.name);
  calibrate_ = normalises && input.options.calibrate && !objective.centre;
  data_ = input.valid;
  // The constraint is met on the training data, so its last iterate is the answer.
  patience_ = input.options.objective.name == "constraint" ? 0 : input.options.patience;
}

template <class Real>
bool Validation<Real>::check(std::span<const Real> theta, const Subtracted& subtracted, Progress& progress) {
  const double centre = subtracted.constant;
  std::vector<double> normalizer;
  if (subtracted.function.exists()) normalizer = values_of(subtracted.function, data_->features);
  const LossSum sum = value_and_gradient<Real>(
      *pass_, Exact(), {.weight = data_->weight, .centre = centre, .normalizer = normalizer}, theta,
      std::span<Real>());
  progress.valid_nll = sum.mean_nll();
  last_mean_ = sum.mean_log_z();
  // E (A - c)^2 = E (A - centre)^2 - (E A - centre)^2 for c = E A.
  const double offset = last_mean_ - centre;
  const double square = sum.log_z_square / sum.normalised_weight - (calibrate_ ? offset * offset : 0);
  progress.valid_log_z_rms = std::sqrt(std::max(0.0, square));
  if (!selects()) return false;
  const double value = sum.mean_nll() + alpha_ * square;
  if (std::isfinite(value) && (!has_best() || value < best_)) {
    best_ = value;
    best_subtracted_ = {calibrate_ ? last_mean_ : centre, subtracted.function};
    best_theta_.assign(theta.begin(), theta.end());
    since_best_ = 0;
    return false;
  }
  return ++since_best_ >= patience_;
}

template <class Real>
void Validation<Real>::conclude(std::span<const Real> last, const Subtracted& trained,
                                LoopOutput<Real>& out) const {
  const bool best = selects() && has_best();
  out.calibrated = calibrates() && (best || out.ending == Ending::complete);
  if (best) {
    out.theta = best_theta_;
    out.subtracted = best_subtracted_;
  } else {
    out.theta.assign(last.begin(), last.end());
    out.subtracted = {out.calibrated ? last_mean_ : trained.constant, trained.function};
  }
}

template <class Real>
void Validation<Real>::save(Checkpoint& checkpoint) const {
  checkpoint.set("valid.best", best_);
  best_subtracted_.save("valid.best_subtracted", checkpoint);
  checkpoint.set("valid.last_mean", last_mean_);
  checkpoint.set("valid.since_best", since_best_);
  checkpoint.set("valid.best_theta", best_theta_);
}

template <class Real>
void Validation<Real>::restore(const Checkpoint& checkpoint) {
  best_ = checkpoint.number("valid.best");
  best_subtracted_.restore("valid.best_subtracted", checkpoint);
  last_mean_ = checkpoint.number("valid.last_mean");
  since_best_ = checkpoint.integer("valid.since_best");
  checkpoint.get("valid.best_theta", best_theta_);
}

template class Validation<float>;
template class Validation<double>;

}  // namespace selfnorm
