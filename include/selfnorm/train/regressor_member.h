// The training of one member of a regressor: the mixture alone first, then mixture, tilt and b together; Adam
// with decoupled weight decay; a moving average of the parameters, which is what is checked and kept:
//     average <- decay average + (1 - decay) theta,  decay = min(options.average, (1 + t) / (10 + t)).
// A check is the NLL of held-out rows, A(x) by quadrature to 0.001 (two targets 0.01, three 0.03), 0 while
// the tilt is.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "selfnorm/optim/adaptive.h"
#include "selfnorm/optim/schedule.h"
#include "selfnorm/train/checkpoint.h"
#include "selfnorm/train/flat_parameters.h"
#include "selfnorm/train/regressor_networks_pass.h"
#include "selfnorm/train/regressor_problem.h"
#include "selfnorm/train/regressor_step.h"
#include "selfnorm/train/shuffled_order.h"
#include "selfnorm/train/trainer.h"

namespace selfnorm {

class RegressorMember {
 public:
  // Rows of problem.inputs(); valid_rows may be empty: then the last average that can be used is kept.
  RegressorMember(const RegressorProblem& problem, uint64_t seed, std::vector<uint64_t> train_rows,
                  std::vector<uint64_t> valid_rows);

  bool is_done() const { return at_ >= steps_ || stopped_ || diverged_; }
  bool diverged() const { return diverged_; }
  bool stopped() const { return stopped_; }  // by patience
  uint64_t at() const { return at_; }
  std::optional<double> best_check() const { return best_check_; }  // in the units of the data
  uint64_t best_step() const { return best_step_; }
  // Whether what is kept is the mixture alone although a tilt was trained.
  bool keeps_mixture_alone() const { return tilt_step_ != nullptr && !is_tilted(best_step_); }

  // One step. A report when there is something to say.
  std::optional<Progress> advance();

  // The best average, its b fitted to exact A of training inputs if that is asked for, and what it takes to
  // tell levels that were not seen. One that cannot be used on training rows has diverged: then the start.
  RegressorNetworks finish();

  void save(Checkpoint& c) const;
  void restore(const Checkpoint& c);

 private:
  bool is_tilted(uint64_t step) const { return tilt_step_ != nullptr && step >= warm_steps_; }
  void read_batch();
  bool take_step();
  void move(double rate);
  void check();
  double mean_nll(std::span<const uint64_t> rows) const;
  void require_usable(std::span<const uint64_t> rows) const;
  void settle();
  Progress progress();

  const RegressorProblem& problem_;
  RegressorOptions options_;  // with the member's own seed
  std::vector<uint64_t> train_rows_, valid_rows_;
  RegressorNetworks networks_;
  FlatParameters parameters_;
  RegressorNetworksPass pass_;
  std::unique_ptr<RegressorStep> tilt_step_;
  ShuffledOrder order_;
  uint64_t per_epoch_, steps_, warm_steps_, check_interval_;
  Schedule schedule_;
  Adaptive<float> optimiser_;
  std::vector<float> theta_, average_, best_, gradient_;
  std::vector<std::span<float>> gradient_parts_;
  std::vector<double> rate_factor_;  // of every network

  uint64_t at_ = 0;
  EncodedFrame batch_;
  std::vector<float> target_;
  std::vector<double> noise_;
  std::vector<uint64_t> chosen_;
  std::vector<uint32_t> own_row_;
  RegressorStepTerms terms_;
  double loss_sum_ = 0, gradient_norm_ = 0;
  uint64_t loss_count_ = 0;
  std::optional<double> best_check_, last_check_;
  uint64_t best_step_ = 0, stale_ = 0;
  bool stopped_ = false, diverged_ = false;
};

}  // namespace selfnorm
