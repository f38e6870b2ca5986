// The training of one member of a regressor: the mixture alone first, then mixture, tilt and b together; Adam
// with decoupled weight decay; a moving average of the parameters, which is what is checked and kept. A check
// is the NLL of held-out rows, A(x) by quadrature to 0.001 (two targets 0.01, three 0.03), 0 while the tilt
// is.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/clipped_adam.h"
#include "engine/engine.h"
#include "engine/minibatches.h"
#include "family/regressor/train/device_regressor.h"
#include "family/regressor/train/regressor_problem.h"
#include "family/regressor/train/regressor_step.h"
#include "model/regressor/regressor.h"
#include "selfnorm/error.h"

namespace selfnorm {

// NLL of every row, as below but not weighted.
std::vector<double> held_out_nlls(const RegressorProblem& problem, const RegressorNetworks& networks,
                                  std::span<const uint64_t> rows, bool is_tilted);
// Mean NLL of rows, weighted, in the units of the data: A(x) by quadrature, 0 unless it is tilted; masses
// where targets are intervals.
double held_out_nll(const RegressorProblem& problem, const RegressorNetworks& networks,
                    std::span<const uint64_t> rows, bool is_tilted);

// As many rows of equal weights tell as much as these.
double effective_rows(const RegressorProblem& problem, std::span<const uint64_t> rows);

// Whether options ask for a temperature, and b(x) can follow.
bool can_be_tempered(const RegressorOptions& options);

class RegressorMember final : public Problem {
 public:
  // Rows of problem.inputs(); valid_rows may be empty: then the last average that can be used is kept.
  RegressorMember(const RegressorProblem& problem, uint64_t seed, std::vector<uint64_t> train_rows,
                  std::vector<uint64_t> valid_rows);

  const Plan& plan() const override { return plan_; }
  Step begin() override;
  Step gradient(uint64_t at) override;
  Step move(uint64_t at, double factor) override;
  bool is_between_runs() const override { return !device_ || is_between_runs_; }
  void measure(Progress& progress) override;
  Check check(Progress& progress) override;
  void take(Snapshot& out) const override { out.floats = average_; }
  void put(const Snapshot& snapshot) override { average_ = snapshot.floats; }
  void state(CheckpointFields& fields, uint64_t steps_taken) override;

  // What its run came to. The best average, its b fitted to exact A of training inputs if that is asked for,
  // and what it takes to tell levels that were not seen.
  struct Result {
    RegressorNetworks networks = {};
    bool diverged = false;          // also when it cannot be used on training rows: then it is the start
    std::optional<double> check;    // of what is kept, in the units of the data
    uint64_t kept = 0;              // its step
    bool is_mixture_alone = false;  // although a tilt was trained
  };
  Result finish(const RunOutcome& outcome);
  // Of the GPU that takes its steps; empty: the CPU does.
  std::string device() const { return device_ ? device_->name() : ""; }

 private:
  bool is_tilted(uint64_t step) const { return tilt_step_ != nullptr && step >= warm_steps_; }
  void read_batch(uint64_t at);
  void draw_targets(uint64_t at, bool is_tilted);
  double rate(uint64_t at, double factor) const;
  // Of the networks that the mixture alone does not move: Adam starts with them when they do.
  double late_rate(uint64_t at, double rate) const;
  bool is_late(size_t network) const;  // in the order of RegressorNetworks::parameters
  void open_device();
  void put_on_device();
  selfnorm_regressor_at read_for_device(uint64_t at, double factor, const DeviceRegressorStep& out);
  Step device_move(uint64_t at);
  void use(std::span<const float> parameters);
  void require_usable(std::span<const uint64_t> rows) const;
  void settle_result(bool is_checked, bool is_tilted, std::optional<double>& check);

  const RegressorProblem& problem_;
  RegressorOptions options_;  // with the member's own seed
  std::vector<uint64_t> train_rows_, valid_rows_;
  RegressorNetworks networks_;
  FlatParameters parameters_;
  RegressorNetworksPass pass_;
  std::unique_ptr<RegressorStep> tilt_step_;
  Minibatches minibatches_;
  Plan plan_;
  uint64_t warm_steps_;  // of the mixture alone
  ClippedAdam adam_;
  std::vector<float> theta_, average_;
  std::vector<std::span<float>> gradient_parts_;
  std::vector<double> rate_factor_;  // of every network

  // Of the last step.
  uint64_t taken_ = 0;
  EncodedFrame batch_;
  std::vector<float> target_;
  std::vector<double> noise_, weight_;
  std::vector<uint64_t> chosen_;
  std::vector<uint32_t> own_row_;
  RegressorStepTerms terms_;
  LossMean loss_;

  // On a GPU: parameters here are those of the end of its last run.
  std::unique_ptr<DeviceRegressor> device_;
  bool is_between_runs_ = true;
  double device_b_ = 0;  // mean of the last step
};

}  // namespace selfnorm
