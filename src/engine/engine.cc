#include "engine/engine.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <utility>

#include "base/failure.h"
#include "base/interruption.h"
#include "math/process/communicator.h"

namespace selfnorm {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point a, Clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

// When to write checkpoints, and how long the run has taken, resumed parts included.
class Pace {
 public:
  Pace(const CheckpointOptions& options, std::string fingerprint, TrainObserver& observer)
      : options_(options), fingerprint_(std::move(fingerprint)), observer_(observer) {}

  double seconds() const { return earlier_seconds_ + seconds_between(start_, Clock::now()); }

  // The checkpoint to continue from, or nothing. Throws Error when it belongs to other data or options.
  std::optional<Checkpoint> resumed() {
    const bool is_there = options_.resume && !options_.path.empty() && std::filesystem::exists(options_.path);
    if (Communicator* const all = current_communicator()) {
      all->require_same("the data or options of the training", fingerprint_);
      all->require_same(fmt::format("whether they see the checkpoint {}", options_.path),
                        is_there ? "yes" : "no");
    }
    if (!is_there) return std::nullopt;
    Checkpoint checkpoint = Checkpoint::load(options_.path);
    if (checkpoint.text("fingerprint") != fingerprint_)
      throw_error(
          "{}: the checkpoint was made with other data or options; repeat the command that made it, or start "
          "again without `resume`",
          options_.path);
    earlier_seconds_ = checkpoint.number("seconds");
    return checkpoint;
  }

  // Writes what `fill` puts into a checkpoint when one is due or `now` asks for it. Writing takes at most
  // about a tenth of the run's time. One that cannot be written is a warning: the one before stays, and the
  // next is tried when it is due. Of several processes the first writes; where each has a part, all write
  // theirs before that.
  void checkpoint(bool now, bool is_split, const std::function<void(CheckpointFields&)>& fill) {
    if (options_.path.empty() || (!is_split && !is_first_process())) return;
    const Clock::time_point begin = Clock::now();
    const double wait = options_.seconds == 0 ? 0 : std::max(options_.seconds, 10 * write_seconds_);
    const bool is_due = is_first_process() && (now || seconds_between(written_, begin) >= wait);
    if (!(is_split ? any_process(is_due) : is_due)) return;
    Checkpoint checkpoint;
    CheckpointFields fields(checkpoint);
    fill(fields);
    try {
      if (is_split) checkpoint.save_parts(options_.path, next_generation());
      if (!is_first_process()) return;
      checkpoint.set("fingerprint", fingerprint_);
      checkpoint.set("seconds", seconds());
      checkpoint.save(options_.path);
      if (is_split) remove_checkpoint_parts(options_.path);
      is_failing_ = false;
    } catch (const Error& error) {
      if (is_split && is_first_process()) remove_checkpoint_parts(options_.path);
      if (!std::exchange(is_failing_, true))
        observer_.on_warning(
            fmt::format("no checkpoint: {}; training goes on, and it will be tried again", error.what()));
    }
    written_ = Clock::now();
    write_seconds_ = seconds_between(begin, written_);
  }

 private:
  // Together; one that was not finished is not taken again.
  uint64_t next_generation() {
    if (generation_ == 0) {
      generation_ = next_checkpoint_generation(options_.path);
      if (Communicator* const all = current_communicator())
        generation_ = std::stoull(all->from_first(std::to_string(generation_)));
    }
    return generation_++;
  }

  CheckpointOptions options_;
  std::string fingerprint_;
  TrainObserver& observer_;
  uint64_t generation_ = 0;  // of the next checkpoint in parts; 0: not known yet
  Clock::time_point start_ = Clock::now();
  Clock::time_point written_ = start_;
  double earlier_seconds_ = 0;
  double write_seconds_ = 0;
  bool is_failing_ = false;
};

struct Kept {
  Snapshot parameters;
  bool exists = false;

  // The problem says how much there is of everything.
  void state(const std::string& name, CheckpointFields& fields, Problem& problem) {
    fields(name, exists);
    if (!exists) return;
    if (fields.reads()) problem.take(parameters);
    problem.snapshot_state(name, fields, parameters);
  }
};

class Run {
 public:
  Run(Problem& problem, const Members::Steps& place, Pace& pace, TrainObserver& observer,
      std::function<void(CheckpointFields&)> save_others)
      : problem_(problem),
        plan_(problem.plan()),
        place_(place),
        pace_(pace),
        observer_(observer),
        save_others_(std::move(save_others)),
        schedule_{plan_.schedule, plan_.steps - plan_.warm_steps, plan_.epoch} {}

  // Continues from what was resumed, if there is something, and frees it.
  RunOutcome operator()(std::optional<Checkpoint>& resumed) {
    if (resumed) {
      CheckpointFields fields(std::as_const(*resumed));
      state(fields);
      resumed.reset();
    } else {
      if (Step start = problem_.begin(); start.kind != Step::Kind::moved)
        return end_at_start(std::move(start));
      look();
    }
    while (!is_lost_ && !is_impatient() && at_ < plan_.steps) {
      Step step = take_step();
      const bool is_interrupted = step.kind == Step::Kind::interrupted;
      if (!is_interrupted && step.kind != Step::Kind::moved) return end(std::move(step));
      if (!is_interrupted) {
        ++at_;
        look();
        if (is_lost_ || is_impatient()) break;
      }
      if (!problem_.is_between_runs()) continue;
      const bool stops = any_process(is_interrupted || observer_.stop_requested());
      pace_.checkpoint(stops, problem_.is_split(), [this](CheckpointFields& fields) {
        state(fields);
        save_others_(fields);
      });
      if (stops) return end({Step::Kind::interrupted, "interrupted"});
    }
    if (is_lost_) return end(Step::diverged());
    if (!is_impatient()) return end(Step::finished(plan_.completed));
    out_.ran_out_of_patience = true;
    return end(
        Step::finished(fmt::format("validation did not improve in {} {}", plan_.patience, plan_.unit)));
  }

 private:
  bool is_impatient() const { return plan_.patience > 0 && stale_ >= plan_.patience; }

  Step take_step() {
    bool in_move = false;
    try {
      if (Step step = problem_.gradient(at_); step.kind != Step::Kind::moved) return step;
      if (plan_.good_every > 0 && at_ % plan_.good_every == 0 && !best_.exists && problem_.is_good()) {
        problem_.take(good_.parameters);
        good_.exists = true;
        kept_step_ = at_;
      }
      in_move = true;
      return problem_.move(at_, schedule_.factor(at_ - std::min(at_, plan_.warm_steps)));
    } catch (const Interrupted&) {
      if (!problem_.is_unmoved(in_move) || !any_process(observer_.stop_requested())) throw;
      return {Step::Kind::interrupted};
    }
  }

  // Reports and checks what is due.
  void look() {
    const Due due = problem_.due(at_);
    if (!due.report && !due.check) return;
    measure();
    if (due.check) check();
    if (due.report) observer_.on_progress(out_.last);
  }

  void measure() {
    Progress& p = out_.last;
    p = {};
    p.step = place_.before + at_;
    p.steps = place_.all;
    p.epoch = at_ == 0 ? 0 : (at_ - 1) / plan_.epoch;
    p.seconds = pace_.seconds();
    problem_.measure(p);
    measured_ = at_;
  }

  void check() {
    problem_.settle();
    const Check found = problem_.check(out_.last);
    checked_ = at_;
    is_lost_ = !found.is_usable;
    if (is_lost_ || !plan_.keeps_best) return;
    stale_ += best_.exists || found.criterion ? 1 : 0;
    if (!found.criterion) return;
    if (!std::isfinite(*found.criterion) || (best_.exists && !(*found.criterion < criterion_))) return;
    if (!best_.exists) best_ = std::exchange(good_, {});
    problem_.take(best_.parameters);
    best_.exists = true;
    criterion_ = *found.criterion;
    kept_step_ = at_;
    stale_ = 0;
  }

  RunOutcome end_at_start(Step start) {
    out_.reason = std::move(start.reason);
    out_.ending = start.kind == Step::Kind::diverged ? Ending::diverged : Ending::complete;
    return std::move(out_);
  }

  RunOutcome end(Step step) {
    // What finished by itself may have gone elsewhere at last.
    const bool is_unseen = step.kind == Step::Kind::finished && at_ < plan_.steps && !is_impatient();
    problem_.settle();
    if (step.kind == Step::Kind::finished) {
      if (is_unseen || measured_ != at_) measure();
      if (plan_.checks && (is_unseen || checked_ != at_)) check();
      if (is_lost_ || !problem_.is_usable()) step = Step::diverged();
    }
    out_.steps = at_;
    out_.ending = step.kind == Step::Kind::diverged      ? Ending::diverged
                  : step.kind == Step::Kind::interrupted ? Ending::interrupted
                                                         : Ending::complete;
    out_.reason = std::move(step.reason);
    if (out_.ending == Ending::diverged && !problem_.remedy().empty())
      out_.reason = fmt::format("{} at step {}; try {}", out_.reason, at_, with_options(problem_.remedy()));
    if (best_.exists) {
      problem_.put(best_.parameters);
      out_.kept = kept_step_;
      out_.best = criterion_;
    } else if (out_.ending == Ending::diverged && good_.exists) {
      problem_.put(good_.parameters);
      out_.kept = kept_step_;
    }
    // Of what it went back to.
    if (at_ > 0 && (measured_ != at_ || out_.ending == Ending::diverged)) measure();
    return std::move(out_);
  }

  void state(CheckpointFields& fields) {
    fields("step", at_);
    fields("stale", stale_);
    fields("best.criterion", criterion_);
    fields("kept.step", kept_step_);
    problem_.state(fields, at_);
    best_.state("best", fields, problem_);
    good_.state("good", fields, problem_);
  }

  static constexpr uint64_t kNever = UINT64_MAX;

  Problem& problem_;
  const Plan& plan_;
  Members::Steps place_;
  Pace& pace_;
  TrainObserver& observer_;
  std::function<void(CheckpointFields&)> save_others_;
  Schedule schedule_;
  uint64_t at_ = 0;                                // steps taken
  uint64_t measured_ = kNever, checked_ = kNever;  // after so many of them
  Kept good_, best_;
  double criterion_ = 0;    // of the best
  uint64_t kept_step_ = 0;  // of the best, or of the good ones
  uint64_t stale_ = 0;      // checks since the best
  bool is_lost_ = false;
  RunOutcome out_;
};

class OneMember final : public Members {
 public:
  explicit OneMember(Problem& problem) : problem_(problem) {}
  uint64_t count() const override { return 1; }
  Problem& make(uint64_t /*i*/) override { return problem_; }
  void finish(uint64_t /*i*/, const RunOutcome& /*outcome*/) override {}

 private:
  Problem& problem_;
};

}  // namespace

Due Problem::due(uint64_t steps_taken) const {
  const Plan& p = plan();
  if (steps_taken == 0) return {};
  const bool is_last = steps_taken == p.steps;
  const bool is_check = is_last || steps_taken % p.check_every == 0;
  return {.report = is_check || steps_taken % p.report_every == 0, .check = is_check && p.checks};
}

RunOutcome run(Members& members, const CheckpointOptions& checkpoint, const std::string& fingerprint,
               TrainObserver& observer) {
  Pace pace(checkpoint, fingerprint, observer);
  std::optional<Checkpoint> resumed = pace.resumed();
  uint64_t first = 0;
  if (resumed) {
    first = resumed->integer("member");
    if (first >= members.count())
      throw_error("{}: found member {} of {}; start again without `resume`", checkpoint.path, first,
                  members.count());
    CheckpointFields fields(std::as_const(*resumed));
    members.state(fields, first);
  } else {
    members.begin();
  }
  RunOutcome out;
  for (uint64_t i = first; i < members.count(); ++i) {
    Problem& problem = members.make(i);
    Run member(problem, members.steps(i, problem.plan().steps), pace, observer,
               [&members, i](CheckpointFields& fields) mutable {
                 fields("member", i);
                 members.state(fields, i);
               });
    out = member(resumed);
    if (out.ending == Ending::interrupted) return out;
    members.finish(i, out);
  }
  return out;
}

RunOutcome run(Problem& problem, const CheckpointOptions& checkpoint, const std::string& fingerprint,
               TrainObserver& observer) {
  OneMember one(problem);
  return run(one, checkpoint, fingerprint, observer);
}

RunOutcome run(Problem& problem) {
  TrainObserver nobody;
  return run(problem, {}, "", nobody);
}

}  // namespace selfnorm
