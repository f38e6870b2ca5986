// Whether the draws of a step still tell anything about log Z.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/checkpoint.h"

namespace selfnorm {

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
