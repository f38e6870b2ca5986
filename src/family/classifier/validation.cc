#include "family/classifier/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "objective/registry.h"

namespace selfnorm {
namespace {

constexpr uint64_t kReportsPerEpoch = 20;
constexpr double kShareOfTraining = 0.2;
constexpr double kStepsOverProducts = 4;  // the time of a multiplication of a step over that of a product

// Whether log Z is drawn to a constant, or left at one, which validation data may tell better.
bool has_level(const ObjectiveEntry& o) { return o.is_penalised || o.uses_normalizer || o.leaves_level; }

}  // namespace

double affordable_rows(double steps, double row) {
  if (!(row > 0)) return std::numeric_limits<double>::infinity();
  return std::max(1e-3, kShareOfTraining * kStepsOverProducts * steps / row);
}

ValidationEffort validation_effort(double epoch, double row, uint64_t held_out) {
  using Effort = ValidationEffort;
  const double rows = affordable_rows(epoch, row);
  if (rows >= double{Effort::kMostRows}) return {};
  const uint64_t fewest = std::clamp<uint64_t>(held_out, 1, Effort::kFewestRows);
  if (rows >= static_cast<double>(fewest)) return {.rows = static_cast<uint64_t>(rows)};
  return {.rows = fewest, .epochs = static_cast<uint64_t>(std::ceil(static_cast<double>(fewest) / rows))};
}

bool has_l2_path(const TrainOptions& options, bool has_valid) {
  return has_valid && options.patience > 0 && options.l2_from > options.l2 &&
         !objective_entry(options.objective.name).is_constraint;
}

// The constraint is met on the training data, so its last iterate is the answer.
Validation::Validation(const TrainOptions& options, bool has_data)
    : has_data_(has_data),
      calibrates_(has_data && options.calibrate && has_level(objective_entry(options.objective.name)) &&
                  !options.objective.centre),
      alpha_(objective_entry(options.objective.name).is_penalised ? options.objective.alpha : 0),
      patience_(objective_entry(options.objective.name).is_constraint ? 0 : options.patience) {}

void Validation::plan(Plan& plan) const {
  plan.checks = has_data_;
  plan.keeps_best = has_data_ && patience_ > 0;
  plan.patience = patience_;
}

Plan Validation::plan_of_epochs(const TrainOptions& options, uint64_t per_epoch, uint64_t epochs) const {
  Plan out{.steps = options.epochs * per_epoch,
           .epoch = per_epoch,
           .schedule = options.schedule,
           .report_every = std::max<uint64_t>(1, per_epoch / kReportsPerEpoch),
           .check_every = epochs * per_epoch,
           .good_every = per_epoch,
           .unit = epochs == 1 ? "epochs" : "checks",
           .completed = options.epochs == 1 ? "completed 1 epoch"
                                            : fmt::format("completed {} epochs", options.epochs)};
  plan(out);
  return out;
}

Check Validation::judge(const ValidationMeasure& measured, Progress& progress) {
  const double square = std::max(0.0, calibrates_ ? measured.calibrated_square : measured.square);
  level_ = measured.level;
  progress.valid_nll = measured.nll;
  progress.valid_log_z_rms = std::sqrt(square);
  return {.criterion = measured.nll + alpha_ * square};
}

std::optional<double> Validation::level() const {
  return calibrates_ && std::isfinite(level_) ? std::optional(level_) : std::nullopt;
}

}  // namespace selfnorm
