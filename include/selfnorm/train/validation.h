// Early stopping: the best parameters on validation data so far, and how many checks ago they were found.
#pragma once

#include <functional>
#include <vector>

#include "selfnorm/train/checkpoint.h"
#include "selfnorm/train/loop.h"

namespace selfnorm {

// What validation data say of parameters with something subtracted.
struct ValidationMeasure {
  double nll = 0;                // mean, exact
  double level = 0;              // the constant that calibration would subtract
  double square = 0;             // mean of (A - c - b)^2
  double calibrated_square = 0;  // with the level in the place of c
};

template <class Real>
class Validation {
 public:
  using Measure = std::function<ValidationMeasure(std::span<const Real> theta, const Subtracted& subtracted)>;

  // Without a measure there are no validation data.
  Validation(const TrainOptions& options, Measure measure);

  bool present() const { return measure_ != nullptr; }
  // Whether the best parameters, rather than the last ones, are the result.
  bool selects() const { return present() && patience_ > 0; }

  // Whether it has parameters that are the result if training ends here.
  bool keeps() const { return selects() && !best_theta_.empty(); }

  // Whether the constant of the result is the mean of A (less b(x)) on the validation data.
  bool calibrates() const { return present() && calibrate_; }

  // Measures theta, less c and b(x), and fills the validation fields of `progress`; true when patience has
  // run out. The criterion is exact NLL + penalty, about the calibrated centre if there is one; for `exact`
  // and `sampled` the NLL alone.
  bool check(std::span<const Real> theta, const Subtracted& subtracted, Progress& progress);

  // The parameters of the result and what they have subtracted: the best on validation data when it selects,
  // otherwise `last` with the calibrated constant or the trained one.
  void conclude(std::span<const Real> last, const Subtracted& trained, LoopOutput<Real>& out) const;

  void save(Checkpoint& checkpoint) const;
  // Of so many parameters and of this shape.
  void restore(const Checkpoint& checkpoint, size_t parameters, const Subtracted& subtracted);

 private:
  Measure measure_;
  double alpha_ = 0;
  bool calibrate_ = false;
  uint64_t patience_ = 0;
  double last_level_ = 0;
  uint64_t since_best_ = 0;
  double best_ = 0;
  Subtracted best_subtracted_;
  std::vector<Real> best_theta_;
};

// Of input.valid, whose level is the mean of A (less b(x)); none without it.
template <class Real>
typename Validation<Real>::Measure validation_measure(const LoopInput& input);

}  // namespace selfnorm
