// Early stopping: the best parameters on validation data so far, and how many checks ago they were found.
#pragma once

#include <memory>
#include <vector>

#include "selfnorm/train/checkpoint.h"
#include "selfnorm/train/loop.h"

namespace selfnorm {

template <class Real>
class Validation {
 public:
  explicit Validation(const LoopInput& input);

  bool present() const { return pass_ != nullptr; }
  // Whether the best parameters, rather than the last ones, are the result.
  bool selects() const { return present() && patience_ > 0; }

  // Whether the centre of the result is the mean of A on the validation data.
  bool calibrates() const { return present() && calibrate_; }

  // Measures theta, with centre c, and fills the validation fields of `progress`; true when patience has run
  // out. The criterion is exact NLL + penalty, about the calibrated centre if there is one; for `exact` and
  // `sampled` the NLL alone.
  bool check(std::span<const Real> theta, double centre, Progress& progress);

  // The parameters and the centre of the result: the best on validation data when it selects, otherwise
  // `last` with the calibrated centre or the trained one.
  void conclude(std::span<const Real> last, double trained_centre, LoopOutput<Real>& out) const;

  void save(Checkpoint& checkpoint) const;
  void restore(const Checkpoint& checkpoint);

 private:
  bool has_best() const { return !best_theta_.empty(); }

  std::unique_ptr<ExactPass<Real>> pass_;
  std::span<const float> weight_;
  double alpha_ = 0;
  bool calibrate_ = false;
  uint64_t patience_ = 0;
  double last_mean_ = 0;
  uint64_t since_best_ = 0;
  double best_ = 0;
  double best_centre_ = 0;
  std::vector<Real> best_theta_;
};

}  // namespace selfnorm
