// The one training loop.
//
//     until all steps are taken, the problem is finished or patience has run out:
//       look at the loss; keep a good copy; move; report and check where they are due; write a checkpoint
//
// The result is the best parameters on held-out data where the plan keeps them, otherwise the last; a run
// that diverges goes back to the best, or to the last good ones. Good ones are kept until there is a best, in
// the same memory. A resumed run continues with the same bits.
//
// Several processes (math/process/communicator.h) run it together, each with all parameters: they agree on
// stopping between two steps, and the first one writes the checkpoints, which all read. Where they have parts
// of the parameters each, they write parts of the checkpoint (engine/checkpoint.h).
//
// Not trained by steps, and so no part of this: EM of mixtures, Newton's method of exponential families, the
// line search inside an iteration of L-BFGS, and searches over whole runs (the multiplier of retraining).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/checkpoint.h"
#include "optim/adaptive.h"
#include "selfnorm/progress.h"

namespace selfnorm {

// What the loop sees of anything that is trained by steps. The engine has the
// order of events: epochs, the schedule, reports, checks, the best parameters, patience, what happens when a
// step diverges, checkpoints and interruptions. A problem has the mathematics: a gradient, a move, a
// criterion on held-out data, and its state.

// The parameters that could be the result of a run, as they were at one step.
struct Snapshot {
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<double> numbers;                        // a few besides them: b, a level
  std::vector<std::shared_ptr<SetAside>> aside = {};  // where the parameters are more than may be held twice

  template <class Real>
  std::vector<Real>& values() {
    if constexpr (sizeof(Real) == sizeof(float))
      return floats;
    else
      return doubles;
  }
  template <class Real>
  const std::vector<Real>& values() const {
    return const_cast<Snapshot*>(this)->values<Real>();
  }
};

struct Plan {
  static constexpr uint64_t kNoLimit = UINT64_MAX;

  uint64_t steps = kNoLimit;  // at most
  uint64_t epoch = 1;         // steps of a pass over the data
  std::string schedule = "constant";
  uint64_t warm_steps = 0;    // at the schedule's first rate, before it begins
  uint64_t report_every = 1;  // steps
  uint64_t check_every = 1;  // steps between looks at held-out data, which are also reported; the last is one
  bool checks = false;       // there are such data
  uint64_t good_every = 0;   // steps between copies of what had a finite loss, to go back to; 0: none
  bool keeps_best = false;   // the result is the best at a check, not the last
  uint64_t patience = 0;     // checks without a better one before the run ends; 0: it goes on
  std::string unit = "checks";                    // of patience, in words
  std::string completed = "completed all steps";  // the reason for an end after all steps
};

struct Step {
  enum class Kind { moved, finished, diverged, interrupted } kind = Kind::moved;
  std::string reason = {};  // finished: why; diverged: what is wrong

  static Step finished(std::string why) { return {Kind::finished, std::move(why)}; }
  static Step diverged(std::string what = "the loss became infinite or NaN") {
    return {Kind::diverged, std::move(what)};
  }
};

struct Due {
  bool report = false, check = false;
};

struct Check {
  // Smaller is better; nothing: it cannot be told, and is then no better than the best there is.
  std::optional<double> criterion = {};
  bool is_usable = true;  // false: the parameters are lost
};

class Problem {
 public:
  virtual ~Problem() = default;

  virtual const Plan& plan() const = 0;
  // Before the first step of a run that is not resumed.
  virtual Step begin() { return {}; }
  // Step `at` is a look at the loss, with the parameters as they are, and then a move, at the rate times
  // `factor` of the schedule. Random numbers are named by `at`.
  virtual Step gradient(uint64_t /*at*/) { return {}; }
  virtual Step move(uint64_t at, double factor) = 0;
  // Whether parameters whose loss was just finite are worth going back to.
  virtual bool is_good() { return true; }
  // Interrupted left gradient(), or move(): whether the step can be taken again as if it had not begun.
  virtual bool is_unmoved(bool in_move) const { return !in_move; }

  // False inside a run of steps that was taken at once elsewhere: no checkpoint is written there, and nobody
  // stops.
  virtual bool is_between_runs() const { return true; }

  // What is to be done after so many steps; 0: at the start.
  virtual Due due(uint64_t steps_taken) const;
  // Fills what there is to say, as often as it is asked; step, steps, epoch and seconds are there.
  virtual void measure(Progress&) {}
  // Work that steps have put off, before parameters are checked and at the end.
  virtual void settle() {}
  // On held-out data; fills their fields.
  virtual Check check(Progress&) { return {}; }
  // After the last step, which has no loss after it.
  virtual bool is_usable() { return true; }
  // What may help when it diverged, in words.
  virtual std::string remedy() const { return {}; }

  // Into room that may hold an earlier one; and back, as the result.
  virtual void take(Snapshot& out) const = 0;
  virtual void put(const Snapshot& snapshot) = 0;

  // All that the next step depends on; what is read has followed so many steps.
  virtual void state(CheckpointFields&, uint64_t /*steps_taken*/) {}
  // The parameters that are kept.
  virtual void snapshot_state(const std::string& name, CheckpointFields& fields, Snapshot& snapshot) {
    fields(name + ".floats", snapshot.floats);
    fields(name + ".doubles", snapshot.doubles);
    fields(name + ".numbers", snapshot.numbers);
  }
  // Whether processes have parts of the parameters each, which they put into a checkpoint together.
  virtual bool is_split() const { return false; }
};

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
  std::string reason;              // why it stopped, in words
  bool interrupted = false;        // stop_requested: the checkpoint is on disk
  bool diverged = false;           // the loss stopped being finite; the model is the last good one
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
  // Planned steps of those before the i-th, which has `own`, and of all: what progress is told of.
  struct Steps {
    uint64_t before = 0, all = 0;
  };
  virtual Steps steps(uint64_t i, uint64_t own) const { return {i * own, count() * own}; }

  // Of those that are finished.
  virtual void state(CheckpointFields&, uint64_t /*finished*/) {}
};

// The outcome of the last; interrupted, of the one that was.
RunOutcome run(Members& members, const CheckpointOptions& checkpoint, const std::string& fingerprint,
               TrainObserver& observer);

}  // namespace selfnorm
