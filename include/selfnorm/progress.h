// What a run tells those who watch it, what they may tell it, and where its checkpoints go.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace selfnorm {

// One line of metrics.jsonl. Penalty and likelihood are apart; all are means over the training examples of
// the step (lbfgs: all of them; adagrad/adam: the epoch so far). nll and log_z_rms are from exact
// log-normalizers and absent where none was computed (nce, ranking-nce, is, snl, and sampled with gamma = 0).
struct Progress {
  uint64_t step = 0;          // lbfgs: iteration; adagrad, adam: minibatch
  uint64_t steps = 0;         // upper bound of step (for the ETA)
  uint64_t epoch = 0;         // adagrad, adam: pass over the data; constraint: solve in the search for alpha
  double loss = 0;            // the objective's terms + regulariser
  std::optional<double> nll;  // exact; for `sampled` the mean over the normalised fraction
  double penalty = 0;
  double regulariser = 0;
  std::optional<double> log_z_rms;  // of A - c
  double gradient_norm = 0;
  double alpha = 0;                 // constraint: the current multiplier; otherwise the option
  double seconds = 0;               // since the (first) start of the run
  std::optional<double> valid_nll;  // exact, when this step was validated
  std::optional<double> valid_log_z_rms;
  std::optional<double> log_normalizer;     // nce, snl: b
  std::optional<double> log_ratio;          // snl: log r = log Z_hat - b; is: log Z_hat, estimates both
  std::optional<double> effective_samples;  // snl, is: of the noise samples, (sum w)^2 / sum w^2
  // densities: with log Z estimated from the proposal; nats per row in the units of the data
  std::optional<double> nll_estimate;        // of the rows since the last report
  std::optional<double> valid_nll_estimate;  // when this step was validated
};

class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void on_progress(const Progress&) {}
  // Something the user should know that is not an error, e.g. "the constraint is not active".
  virtual void on_warning(const std::string&) {}
  // What was chosen where an option left it open.
  virtual void on_note(const std::string&) {}
  // Polled between steps; true makes the run write a checkpoint and end as interrupted.
  virtual bool stop_requested() { return false; }
};

struct CheckpointOptions {
  std::string path;     // "" = none
  double seconds = 30;  // between checkpoints; 0 = after every step
  bool resume =
      false;  // continue from `path` if it exists; the result equals an uninterrupted run bit for bit
};

}  // namespace selfnorm
