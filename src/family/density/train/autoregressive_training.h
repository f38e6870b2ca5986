// Trains an autoregressive energy (model/energy/autoregressive_energy.h) by snl on every line: at step t, for
// every column i and draws y_j ~ q of the row, with w_j = exp(s_i(y_j) - log q(y_j)),
//     loss_i = -s_i(x_i) + b_i + exp(-b_i) mean_j w_j - 1                                    [theory.md 3]
// and the likelihood of the mixtures q_i beside it, which alone are trained at first. What is checked and
// kept is the moving average of the parameters, of every column for itself: log p is a sum over the columns,
// and the best networks of one are not found when those of another are. So the criterion is sum_i min over
// checks of the held-out NLL of x_i given x_<i, with A_i by quadrature; a column that has not gained for
// `patience` checks is not trained further, nor is one whose loss became infinite or NaN. Without rows held
// out the average of a column is kept at every check that finds it better than its start on training rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>

#include "engine/clipped_adam.h"
#include "engine/engine.h"
#include "engine/minibatches.h"
#include "family/density/train/density_problem.h"
#include "family/density/train/density_trainer.h"
#include "model/energy/autoregressive_energy.h"
#include "objective/candidate.h"

namespace selfnorm {

class AutoregressiveTraining final : public Problem {
 public:
  // The problem has the rows, standardised. All have to outlive it. `valid_rows` may be empty.
  AutoregressiveTraining(const DensityProblem& problem, AutoregressiveEnergy& energy,
                         const DensityOptions& options, std::span<const uint64_t> train_rows,
                         std::span<const uint64_t> valid_rows, TrainObserver& observer);

  const Plan& plan() const override { return plan_; }
  Step begin() override;
  // Checks after every epoch at first, then ever further apart: small tables are learned, and learned by
  // heart, in few.
  Due due(uint64_t steps_taken) const override;
  Step gradient(uint64_t at) override;
  Step move(uint64_t at, double factor) override;
  void measure(Progress& progress) override;
  Check check(Progress& progress) override;
  std::string remedy() const override;
  void take(Snapshot& out) const override { out.floats = best_; }
  void put(const Snapshot& snapshot) override { best_ = snapshot.floats; }
  void state(CheckpointFields& fields, uint64_t steps_taken) override;

  // The energy becomes what is kept; once the run is over.
  void finish() { use(best_); }
  // Columns whose loss became infinite or NaN.
  uint64_t lost() const {
    return std::ranges::count_if(idle_, [](double checks) { return std::isinf(checks); });
  }
  // -log p of these rows, standardised, by the energy as it is.
  double nll(const Points& rows) const;
  double loss() const { return terms_.loss; }                                // of the last gradient()
  std::span<const float> gradient_values() const { return adam_.gradient; }  // of that

 private:
  struct Terms {
    double loss = 0, log_ratio = 0, effective = 0;  // sums over the columns; means over them for the last two
  };

  bool is_tilted(uint64_t step) const { return step >= warm_steps_; }
  void read(uint64_t at);
  bool is_done(uint32_t column) const {
    return idle_[column] >= (plan_.patience > 0 ? static_cast<double>(plan_.patience) : INFINITY);
  }
  void column_gradient(uint32_t column, uint64_t at);
  void compare(uint32_t column);
  void use(std::span<const float> parameters);
  double column_nll(uint32_t column, const Points& rows) const;
  double checked_nll(uint32_t column) const;  // on the rows of checks; infinite where there is none

  const DensityProblem& problem_;
  DensityOptions options_;
  TrainObserver& observer_;
  AutoregressiveEnergy& energy_;
  std::span<const uint64_t> train_rows_;
  std::vector<float> checked_;  // rows held out, or trained on where there are none; standardised
  Minibatches minibatches_;
  ClippedAdam adam_;
  std::unique_ptr<CandidateObjective> objective_;
  std::vector<RegressorNetworksPass> passes_;
  std::vector<std::unique_ptr<ConditionalPass>> tilts_;
  std::vector<std::span<float>> gradient_parts_;
  Plan plan_;
  uint64_t warm_steps_, each_;  // steps of the mixtures alone; draws of a row
  std::vector<uint64_t> check_steps_;
  std::vector<float> theta_, average_, best_;
  // Of every column: the best NLL at a check, the start's without held-out rows; and checks since it was
  // the best, infinite: the column is lost.
  std::vector<double> least_, idle_;
  LossMean loss_;

  // Of the last step, and of its last column.
  uint64_t taken_ = 0;
  std::vector<uint64_t> rows_;
  std::vector<float> points_, seen_, y_, drawn_, d_context_;
  std::vector<uint32_t> row_;
  std::vector<double> log_q_, log_g_, score_, d_score_;
  Terms terms_;
};

// Whether options allow the race that follows; rows may not.
bool can_race_lines(const DensityOptions& options, uint32_t columns);
// Whether these rows and options, which leave the energy to the data, race one against `problem.energy()`.
bool races_lines(const DensityOptions& options, const DensityProblem& problem, uint64_t rows,
                 uint64_t held_out);
// Trains one, and then `other`, whose energy and result are the problem's; both with one checkpoint. The
// better on the rows held out is the result.
struct RaceRun {
  std::span<const uint64_t> train_rows, valid_rows;
  const CheckpointOptions& checkpoint;
  std::string mark;
};
DensityResult race_lines(Problem& other, DensityProblem& problem, const DensityOptions& given,
                         const std::function<DensityResult(RunOutcome)>& result, const RaceRun& run_of,
                         TrainObserver& observer);

// Trains options.energy, an autoregressive one.
DensityResult train_autoregressive(const PointSource& data, std::span<const uint64_t> train_rows,
                                   std::span<const uint64_t> valid_rows, const DensityOptions& options,
                                   const CheckpointOptions& checkpoint, TrainObserver& observer);

}  // namespace selfnorm
