#include "selfnorm/train/validation.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "selfnorm/model/normalizer_network.h"
#include "selfnorm/objective/exact.h"
#include "selfnorm/objective/loss.h"
#include "selfnorm/objective/registry.h"

namespace selfnorm {

template <class Real>
typename Validation<Real>::Measure validation_measure(const LoopInput& input) {
  if (input.valid == nullptr) return nullptr;
  const Dataset& data = *input.valid;
  std::shared_ptr<ExactPass<Real>> pass =
      make_exact_pass<Real>(data, input.features, input.classes, input.options.log_carrier);
  return [&data, pass](std::span<const Real> theta, const Subtracted& subtracted) {
    std::vector<double> normalizer;
    if (subtracted.function.exists()) normalizer = values_of(subtracted.function, data.features);
    const LossSum sum = value_and_gradient<Real>(
        *pass, Exact(), {.weight = data.weight, .centre = subtracted.constant, .normalizer = normalizer},
        theta, std::span<Real>());
    ValidationMeasure out;
    out.nll = sum.mean_nll();
    out.level = sum.mean_log_z();
    out.square = sum.log_z_square / sum.normalised_weight;
    // E (A - c)^2 = E (A - centre)^2 - (E A - centre)^2 for c = E A.
    const double offset = out.level - subtracted.constant;
    out.calibrated_square = out.square - offset * offset;
    return out;
  };
}

template <class Real>
Validation<Real>::Validation(const TrainOptions& options, Measure measure) : measure_(std::move(measure)) {
  if (!present()) return;
  const ObjectiveOptions& objective = options.objective;
  alpha_ = objective.name == "penalty" ? objective.alpha : 0;
  const bool normalises =
      objective.name == "penalty" || objective.name == "sampled" || is_candidate_objective(objective.name);
  calibrate_ = normalises && options.calibrate && !objective.centre;
  // The constraint is met on the training data, so its last iterate is the answer.
  patience_ = objective.name == "constraint" ? 0 : options.patience;
}

template <class Real>
bool Validation<Real>::check(std::span<const Real> theta, const Subtracted& subtracted, Progress& progress) {
  const ValidationMeasure measured = measure_(theta, subtracted);
  progress.valid_nll = measured.nll;
  last_level_ = measured.level;
  const double square = calibrate_ ? measured.calibrated_square : measured.square;
  progress.valid_log_z_rms = std::sqrt(std::max(0.0, square));
  if (!selects()) return false;
  const double value = measured.nll + alpha_ * square;
  if (std::isfinite(value) && (!keeps() || value < best_)) {
    best_ = value;
    best_subtracted_ = {calibrate_ ? last_level_ : subtracted.constant, subtracted.function};
    best_theta_.assign(theta.begin(), theta.end());
    since_best_ = 0;
    return false;
  }
  return ++since_best_ >= patience_;
}

template <class Real>
void Validation<Real>::conclude(std::span<const Real> last, const Subtracted& trained,
                                LoopOutput<Real>& out) const {
  const bool best = keeps();
  out.calibrated = calibrates() && (best || out.ending == Ending::complete);
  if (best) {
    out.theta = best_theta_;
    out.subtracted = best_subtracted_;
  } else {
    out.theta.assign(last.begin(), last.end());
    out.subtracted = {out.calibrated ? last_level_ : trained.constant, trained.function};
  }
}

template <class Real>
void Validation<Real>::save(Checkpoint& checkpoint) const {
  checkpoint.set("valid.best", best_);
  best_subtracted_.save("valid.best_subtracted", checkpoint);
  checkpoint.set("valid.last_mean", last_level_);
  checkpoint.set("valid.since_best", since_best_);
  checkpoint.set("valid.best_theta", best_theta_);
}

template <class Real>
void Validation<Real>::restore(const Checkpoint& checkpoint, size_t parameters,
                               const Subtracted& subtracted) {
  best_ = checkpoint.number("valid.best");
  best_subtracted_.restore("valid.best_subtracted", checkpoint, subtracted);
  last_level_ = checkpoint.number("valid.last_mean");
  since_best_ = checkpoint.integer("valid.since_best");
  checkpoint.get("valid.best_theta", best_theta_, parameters);
}

template class Validation<float>;
template class Validation<double>;
template Validation<float>::Measure validation_measure<float>(const LoopInput&);
template Validation<double>::Measure validation_measure<double>(const LoopInput&);

}  // namespace selfnorm
