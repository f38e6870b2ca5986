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
  void restore(const Checkpoint& checkpoint);

 private:
  bool has_best() const { return !best_theta_.empty(); }

  std::unique_ptr<ExactPass<Real>> pass_;
  const Dataset* data_ = nullptr;
  double alpha_ = 0;
  bool calibrate_ = false;
  uint64_t patience_ = 0;
  double last_mean_ = 0;
  uint64_t since_best_ = 0;
  double best_ = 0;
  Subtracted best_subtracted_;
  std::vector<Real> best_theta_;
};

}  // namespace selfnorm
