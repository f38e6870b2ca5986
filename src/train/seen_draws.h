// Whether the draws of "is" still see where the energy is high. Where they do not, its estimate of log Z says
// nothing: the loss falls without end while the energy grows out of their sight.
#pragma once

#include <algorithm>

#include "selfnorm/engine/checkpoint.h"

namespace selfnorm {

class SeenDraws {
 public:
  explicit SeenDraws(uint64_t samples) : least_(std::min(kLeast, static_cast<double>(samples) / 8)) {}

  // The effective samples of a step.
  void add(double effective) { mean_ += (mean_ == 0 ? 1 : kRate) * (effective - mean_); }
  double mean() const { return mean_; }  // running; 0: no step yet
  bool is_lost() const { return mean_ != 0 && mean_ < least_; }

  void save(Checkpoint& c) const { c.set("seen", mean_); }
  void restore(const Checkpoint& c) { mean_ = c.has("seen") ? c.number("seen") : 0; }  // none in older ones

 private:
  static constexpr double kLeast = 2, kRate = 0.1;
  double least_, mean_ = 0;
};

}  // namespace selfnorm
