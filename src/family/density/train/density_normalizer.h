// b of snl and nce while an energy is trained (theory.md 3): it starts at an importance estimate of log Z,
// moves by Adam with a rate of its own, and is estimated anew when the running mean of log r = log Z_hat - b
// has drifted from 0. Fixed at 0 with --normalizer zero, and for objectives without b.
#pragma once

#include <optional>

#include "family/density/train/density_problem.h"
#include "optim/adaptive.h"

namespace selfnorm {

class Checkpoint;

class DensityNormalizer {
 public:
  // `is_used`: b is part of the loss.
  DensityNormalizer(const DensityProblem& problem, bool is_used);

  double value() const { return value_; }
  void set(double value) { value_ = value; }
  bool is_learned() const { return is_learned_; }

  // b <- the estimate; Adam and the running mean forget. `step` names the random numbers.
  void estimate(uint64_t step);
  void move(double derivative, double rate);
  // Follows log r of a step; the running mean that was too far when b was estimated anew.
  std::optional<double> watch(double log_ratio, uint64_t step);

  void save(Checkpoint& c) const;
  void restore(const Checkpoint& c);

 private:
  const DensityProblem& problem_;
  bool is_learned_;
  double value_ = 0;
  double mean_ratio_ = 0;
  Adaptive<double> optimiser_{"adam", 1, 0};
};

}  // namespace selfnorm
