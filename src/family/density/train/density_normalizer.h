// b of snl and nce while an energy is trained (theory.md 3): it starts at an importance estimate of log Z,
// moves by Adam with a rate of its own, and is estimated anew when the running mean of log r = log Z_hat - b
// has drifted from 0. Fixed at 0 with --normalizer zero, and for objectives without b.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "family/density/train/density_problem.h"
#include "normalizer/sampling/importance_log_z.h"
#include "optim/adaptive.h"

namespace selfnorm {

class CheckpointFields;

class DensityNormalizer {
 public:
  // `is_used`: b is part of the loss.
  DensityNormalizer(const DensityProblem& problem, bool is_used);

  double value() const { return value_; }
  void set(double value) { value_ = value; }
  bool is_learned() const { return is_learned_; }
  static constexpr double kMemory = 0.98;  // of the running mean

  // For whoever moves b elsewhere.
  Adaptive<double>& optimiser() { return optimiser_; }
  double& mean_ratio() { return mean_ratio_; }

  // b <- the estimate; Adam and the running mean forget. `step` names the random numbers.
  void estimate(uint64_t step);
  void move(double derivative, double rate);
  // Follows log r of a step; the running mean that was too far when b was estimated anew.
  std::optional<double> watch(double log_ratio, uint64_t step);

  void state(CheckpointFields& fields);

 private:
  const DensityProblem& problem_;
  bool is_learned_;
  double value_ = 0;
  double mean_ratio_ = 0;
  Adaptive<double> optimiser_{"adam", 1, 0};
};

// The negative log-likelihood of held-out rows while an energy is trained, with log Z by importance sampling
// from the proposal: the same rows and the same samples at every check, so that checks differ by the energy
// alone.
class DensityValidation {
 public:
  static constexpr uint64_t kRows = 5000;       // at most, chosen at random once
  static constexpr uint64_t kSamples = 20'000;  // of the proposal
  static constexpr double kLeastEffective = 100;

  // `rows` may be empty: then nothing is checked.
  DensityValidation(DensityProblem& problem, std::span<const uint64_t> rows);

  bool present() const { return !rows_.empty() || !intervals_.empty(); }
  // Rows left out because they are outside the support: they have no likelihood at all.
  uint64_t outside() const { return outside_; }

  // The estimate, or nothing when it has too few effective samples to be told from noise. `score` gives the
  // scores of the energy, or of the tilt where that alone is evaluated.
  using Scores = std::function<void(const Points&, std::span<double>)>;
  std::optional<double> check(const Scores& score) const;
  std::optional<double> check() const;

 private:
  DensityProblem& problem_;
  std::vector<float> rows_;     // standardised
  std::vector<float> samples_;  // of the proposal, with their log q unless the energy tilts it: then
  std::vector<double> log_q_;   // the tilt alone is evaluated
  double base_ = 0;             // the sum of log q of the rows, and of the log-masses of the next
  IntervalStore intervals_;
  uint64_t outside_ = 0;
};

}  // namespace selfnorm
