// What the one training loop (engine/engine.h) sees of anything that is trained by steps. The engine has the
// order of events: epochs, the schedule, reports, checks, the best parameters, patience, what happens when a
// step diverges, checkpoints and interruptions. A problem has the mathematics: a gradient, a move, a
// criterion on held-out data, and its state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/checkpoint.h"
#include "optim/schedule.h"
#include "selfnorm/progress.h"

namespace selfnorm {

// The parameters that could be the result of a run, as they were at one step.
struct Snapshot {
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<double> numbers;  // a few besides them: b, a level

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
  std::optional<double> criterion = {};  // smaller is better; nothing: it cannot be told, and does not count
  bool is_usable = true;                 // false: the parameters are lost
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

  // All that the next step depends on.
  virtual void save(Checkpoint&) const {}
  virtual void restore(const Checkpoint&) {}
};

}  // namespace selfnorm
