// b of snl and nce while an energy is trained (theory.md 3): it starts at an importance estimate of log Z,
// moves by Adam with a rate of its own, and is estimated anew when the running mean of log r = log Z_hat - b
// has drifted from 0. Fixed at 0 with --normalizer zero, and for objectives without b.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/checkpoint.h"
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

// Of the rows held out those that are looked at, drawn at random once.
std::vector<uint64_t> validation_rows(const DensityOptions& options, std::span<const uint64_t> rows);

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

// Whether the draws of "is" still see where the energy is high. Where they do not, its estimate of log Z says
// nothing: the loss falls without end while the energy grows out of their sight.
class SeenDraws {
 public:
  explicit SeenDraws(uint64_t samples) : least_(std::min(kLeast, static_cast<double>(samples) / 8)) {}

  // The effective samples of a step.
  void add(double effective) { mean_ += (mean_ == 0 ? 1 : kRate) * (effective - mean_); }
  double mean() const { return mean_; }  // running; 0: no step yet
  bool is_lost() const { return mean_ != 0 && mean_ < least_; }

  void state(CheckpointFields& fields) { fields("seen", mean_); }

 private:
  static constexpr double kLeast = 2, kRate = 0.1;
  double least_, mean_ = 0;
};

// SNL's steps are as good as the draws they rest on: where few of them carry the weight, the gradient pushes
// the energy up where no draw was, b is lost, and the next steps are worse. So a step shrinks with the share
// of its draws that is effective, theta is remembered while that share is healthy, and when the running share
// falls below kLostShare the run goes back to what it remembers, with half the rate.
class DrawGuard {
 public:
  explicit DrawGuard(uint64_t samples) : lost_(std::max(kLostShare, 2.0 / static_cast<double>(samples))) {}

  static constexpr double kHealthy = 0.2, kLostShare = 0.02, kRate = 0.05, kSmallestScale = 1.0 / 64;

  // The effective share of a step's draws; a factor of its rate.
  double factor(double share) {
    mean_ += kRate * (share - mean_);
    return scale_ * std::min(1.0, share / kHealthy);
  }
  bool is_healthy() const { return mean_ >= kHealthy; }
  bool is_lost() const { return mean_ < lost_; }
  bool is_spent() const { return scale_ < kSmallestScale; }

  double mean() const { return mean_; }
  double scale() const { return scale_; }
  double lost() const { return lost_; }
  const std::vector<float>& remembered() const { return theta_; }
  void set(double mean, std::vector<float> theta) {
    mean_ = mean;
    theta_ = std::move(theta);
  }

  void remember(std::span<const float> theta) { theta_.assign(theta.begin(), theta.end()); }
  // False: there is nothing to go back to.
  bool go_back(std::span<float> theta) {
    scale_ /= 2;
    mean_ = 1;
    if (theta_.empty()) return false;
    std::ranges::copy(theta_, theta.begin());
    return true;
  }

  void state(CheckpointFields& fields) {
    fields("guard.mean", mean_);
    fields("guard.scale", scale_);
    fields("guard.theta", theta_);
  }

 private:
  double lost_, mean_ = 1, scale_ = 1;
  std::vector<float> theta_;
};

}  // namespace selfnorm
