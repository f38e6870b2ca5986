// What held-out data say of a model of classes or CRFs while it is trained. The criterion is exact NLL +
// penalty, about the calibrated centre if there is one; for `exact` and `sampled` the NLL alone. To calibrate
// means: the constant of the result is the level of A (less b(x)) that the held-out data gave for these very
// parameters.
#pragma once

#include <limits>
#include <optional>

#include "engine/engine.h"
#include "family/classifier/options.h"

namespace selfnorm {

// Of parameters with something subtracted.
struct ValidationMeasure {
  double nll = 0;                // mean, exact
  double level = 0;              // the constant that calibration would subtract
  double square = 0;             // mean of (A - c - b)^2
  double calibrated_square = 0;  // with the level in the place of c
};

// How much of the held-out data a check looks at, and how many epochs lie between two checks: at most a fifth
// of the work of training, counted in operations so that it does not depend on the clock. Up to kMostRows,
// whose mean NLL moves by a few thousandths of a nat from one epoch to the next by chance; when a fifth is
// less than kFewestRows, or all where there are fewer, those are looked at after several epochs.
struct ValidationEffort {
  static constexpr uint64_t kMostRows = 20'000, kFewestRows = 500;

  uint64_t rows = kMostRows;
  uint64_t epochs = 1;
};
// Held-out rows whose log Z takes a fifth of such steps; any number of those that cost nothing.
double affordable_rows(double steps, double row);
// Multiplications of an epoch of steps on scattered rows, and of log Z of one held-out row by matrix
// products; how many such rows there are.
ValidationEffort validation_effort(double epoch, double row, uint64_t held_out = ValidationEffort::kMostRows);

// Whether l2 is a path of full passes. Without patience, and for constraint, nothing would keep the best of
// it.
bool has_l2_path(const TrainOptions& options, bool has_valid);

class Validation {
 public:
  Validation(const TrainOptions& options, bool has_data);

  bool calibrates() const { return calibrates_; }
  // Fills what the plan says of checks.
  void plan(Plan& plan) const;
  // The plan of minibatches, so many of them an epoch, with checks so many epochs apart.
  Plan plan_of_epochs(const TrainOptions& options, uint64_t per_epoch, uint64_t epochs) const;
  // Fills the validation fields.
  Check judge(const ValidationMeasure& measured, Progress& progress);

  // Of the parameters that were judged last, until they move; nothing where it is not to be used.
  std::optional<double> level() const;
  void forget_level() { level_ = std::numeric_limits<double>::quiet_NaN(); }

  // The level is the last number of a snapshot.
  void take(Snapshot& out) const { out.numbers.push_back(level_); }
  void put(const Snapshot& snapshot) { level_ = snapshot.numbers.back(); }
  void state(CheckpointFields& fields) { fields("valid.level", level_); }

 private:
  bool has_data_, calibrates_;
  double alpha_;
  uint64_t patience_;
  double level_ = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace selfnorm
