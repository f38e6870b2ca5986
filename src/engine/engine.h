// The one training loop.
//
//     until all steps are taken, the problem is finished or patience has run out:
//       look at the loss; keep a good copy; move; report and check where they are due; write a checkpoint
//
// The result is the best parameters on held-out data where the plan keeps them, otherwise the last; a run
// that diverges goes back to the best, or to the last good ones. Good ones are kept until there is a best, in
// the same memory. A resumed run continues with the same bits.
//
// Not trained by steps, and so no part of this: EM of mixtures, Newton's method of exponential families, the
// line search inside an iteration of L-BFGS, and searches over whole runs (the multiplier of retraining).
#pragma once

#include <optional>
#include <string>

#include "engine/problem.h"

namespace selfnorm {

enum class Ending { complete, interrupted, diverged };

struct RunOutcome {
  Ending ending = Ending::complete;
  std::string reason;  // in words
  bool ran_out_of_patience = false;
  uint64_t steps = 0;            // taken
  Progress last;                 // of the last step
  std::optional<uint64_t> kept;  // the step that the run went back to; nothing: the last is the result
  std::optional<double> best;    // its criterion, when it was the best
};

// What the trainers of all families return of it.
struct RunResult {
  std::string reason;        // why it stopped, in words
  bool interrupted = false;  // stop_requested: the checkpoint is on disk
  bool diverged = false;     // the loss stopped being finite; the model is the last good one
  std::string optimiser = "adam";  // the one used; empty: there were no steps
  Progress last;

  void take(RunOutcome outcome) {
    reason = std::move(outcome.reason);
    interrupted = outcome.ending == Ending::interrupted;
    diverged = outcome.ending == Ending::diverged;
    last = outcome.last;
  }
};

// Throws Error for a checkpoint of another fingerprint. Interrupted passes through where the problem cannot
// take its step again.
RunOutcome run(Problem& problem, const CheckpointOptions& checkpoint, const std::string& fingerprint,
               TrainObserver& observer);

// Without checkpoints and watchers: a fit inside other work.
RunOutcome run(Problem& problem);

// Problems that are run one after the other with one checkpoint, as one run: an ensemble.
class Members {
 public:
  virtual ~Members() = default;

  virtual uint64_t count() const = 0;
  virtual void begin() {}                 // a run that is not resumed
  virtual Problem& make(uint64_t i) = 0;  // the i-th, at its start
  virtual void finish(uint64_t i, const RunOutcome& outcome) = 0;

  // Of those that are finished.
  virtual void save(Checkpoint&) const {}
  virtual void restore(const Checkpoint&, uint64_t /*finished*/) {}
};

// The outcome of the last; interrupted, of the one that was.
RunOutcome run(Members& members, const CheckpointOptions& checkpoint, const std::string& fingerprint,
               TrainObserver& observer);

}  // namespace selfnorm
