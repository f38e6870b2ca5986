#include "engine/engine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>

#include "base/interruption.h"
#include "engine/lbfgs_problem.h"
#include "math/random.h"
#include "scratch.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(),
                 kNan = std::numeric_limits<double>::quiet_NaN();

// x <- x - 0.1 factor (x - 3 + noise of the step). What its checks say is written down.
struct Toy : Problem {
  Plan own{.steps = 12, .epoch = 4, .schedule = "linear", .check_every = 4, .good_every = 4};
  double x = 0, slope = 0;
  std::map<uint64_t, Check> checks;     // by step
  uint64_t diverges_at = UINT64_MAX;    // in gradient()
  uint64_t interrupts_at = UINT64_MAX;  // in gradient(), once
  bool is_spoilt_at_end = false, refuses_good = false;
  uint64_t now = 0;
  int begun = 0;
  std::vector<uint64_t> good, settled;  // steps at which they were asked for

  const Plan& plan() const override { return own; }
  Step begin() override {
    ++begun;
    return {};
  }
  Step gradient(uint64_t at) override {
    if (at == diverges_at) return Step::diverged();
    if (at == interrupts_at) {
      interrupts_at = UINT64_MAX;
      request_interruption();
      poll_interruption();
    }
    slope = x - 3 + RandomStream(7, at).normal();
    return {};
  }
  Step move(uint64_t at, double factor) override {
    x -= 0.1 * factor * slope;
    now = at + 1;
    return {};
  }
  bool is_good() override {
    good.push_back(now);
    return !refuses_good;
  }
  void settle() override { settled.push_back(now); }
  void measure(Progress& p) override { p.loss = (x - 3) * (x - 3); }
  Check check(Progress& p) override {
    const Check found = checks.contains(now) ? checks.at(now) : Check{};
    p.valid_nll = found.criterion;
    return found;
  }
  bool is_usable() override { return !is_spoilt_at_end; }
  std::string remedy() const override { return "patience"; }
  void take(Snapshot& out) const override { out.doubles = {x}; }
  void put(const Snapshot& s) override { x = s.doubles[0]; }
  void state(CheckpointFields& fields, uint64_t steps_taken) override {
    fields("x", x);
    now = steps_taken;
  }
};

struct Watcher : TrainObserver {
  std::vector<Progress> seen;
  std::vector<std::string> warnings;
  uint64_t polls = 0, stop_every = UINT64_MAX;

  void on_progress(const Progress& p) override { seen.push_back(p); }
  void on_warning(const std::string& text) override { warnings.push_back(text); }
  bool stop_requested() override {
    withdraw_interruption();
    return ++polls % stop_every == 0;
  }
};

// x after so many steps.
double x_after(uint64_t steps) {
  Toy toy;
  toy.own.keeps_best = false;
  const Schedule schedule{"linear", 12, 4};
  for (uint64_t at = 0; at < steps; ++at) {
    toy.gradient(at);
    toy.move(at, schedule.factor(at));
  }
  return toy.x;
}

TEST(Engine, TakesEveryStepOnceWithItsSchedule) {
  Toy toy;
  Watcher watcher;
  const RunOutcome out = run(toy, {}, "", watcher);
  EXPECT_EQ(out.ending, Ending::complete);
  EXPECT_EQ(out.reason, "completed all steps");
  EXPECT_EQ(out.steps, 12u);
  EXPECT_EQ(toy.x, x_after(12));
  EXPECT_EQ(toy.begun, 1);
  EXPECT_FALSE(out.kept || out.best);
  ASSERT_EQ(watcher.seen.size(), 12u);
  for (uint64_t i = 0; i < 12; ++i) {
    EXPECT_EQ(watcher.seen[i].step, i + 1);
    EXPECT_EQ(watcher.seen[i].steps, 12u);
    EXPECT_EQ(watcher.seen[i].epoch, i / 4);
    EXPECT_GE(watcher.seen[i].seconds, i == 0 ? 0 : watcher.seen[i - 1].seconds);
  }
  EXPECT_EQ(out.last.loss, std::pow(toy.x - 3, 2));
}

TEST(Engine, WarmStepsHaveTheFirstRate) {
  Toy toy, plain;
  toy.own.warm_steps = 2;
  run(toy);
  for (uint64_t at = 0; at < 12; ++at) {
    plain.gradient(at);
    plain.move(at, at < 2 ? 1 : 1 - static_cast<double>(at - 2) / 10);
  }
  EXPECT_EQ(toy.x, plain.x);
}

TEST(Engine, ReportsAndChecksWhenTheyAreDue) {
  Toy toy;
  toy.own.steps = 11;
  toy.own.report_every = 3;
  toy.own.checks = true;
  for (const uint64_t at : {4, 8, 11}) toy.checks[at] = {static_cast<double>(at)};
  Watcher watcher;
  run(toy, {}, "", watcher);
  std::vector<uint64_t> reported, checked;
  for (const Progress& p : watcher.seen) {
    reported.push_back(p.step);
    if (p.valid_nll) checked.push_back(p.step);
  }
  EXPECT_EQ(reported, (std::vector<uint64_t>{3, 4, 6, 8, 9, 11}));
  EXPECT_EQ(checked, (std::vector<uint64_t>{4, 8, 11}));
  EXPECT_EQ(toy.settled, (std::vector<uint64_t>{4, 8, 11, 11}));  // checks, and the end
}

TEST(Engine, KeepsTheBestAndEndsWhenPatienceRunsOut) {
  Toy toy;
  toy.own = {.steps = 100, .schedule = "linear", .checks = true, .keeps_best = true, .patience = 3};
  toy.own.unit = "epochs";
  const double criterion[] = {5, 4, kInf, 4.5, kNan, 1};
  for (uint64_t i = 0; i < 6; ++i) toy.checks[i + 1] = {criterion[i]};
  Toy two = toy;
  two.own.patience = 0;
  const RunOutcome out = run(toy);
  EXPECT_EQ(out.ending, Ending::complete);
  EXPECT_TRUE(out.ran_out_of_patience);
  EXPECT_EQ(out.reason, "validation did not improve in 3 epochs");
  EXPECT_EQ(out.steps, 5u);
  EXPECT_EQ(out.kept, 2u);
  EXPECT_EQ(out.best, 4);
  Toy until;
  until.own = toy.own;
  until.own.steps = 100;
  const Schedule schedule{"linear", 100, 1};
  for (uint64_t at = 0; at < 2; ++at) {
    until.gradient(at);
    until.move(at, schedule.factor(at));
  }
  EXPECT_EQ(toy.x, until.x);
  const RunOutcome patient = run(two);
  EXPECT_EQ(patient.steps, 100u);
  EXPECT_EQ(patient.kept, 6u);
}

// One that cannot be told is no better than the best; before there is a best it does not count.
TEST(Engine, AMissingCriterionCountsOnceThereIsABest) {
  Toy toy;
  toy.own.checks = toy.own.keeps_best = true;
  toy.own.check_every = 1;
  toy.own.patience = 2;
  toy.checks[4] = {1.0};
  const RunOutcome out = run(toy);
  EXPECT_EQ(out.steps, 6u);
  EXPECT_EQ(out.kept, 4u);
  EXPECT_EQ(toy.x, x_after(4));
  Toy never = toy;
  never.checks.clear();
  EXPECT_EQ(run(never).steps, 12u);
}

TEST(Engine, TheStartMayStayTheBest) {
  struct Started : Toy {
    Due due(uint64_t at) const override { return {.check = at % 4 == 0}; }
  } toy;
  toy.own.checks = toy.own.keeps_best = true;
  toy.checks = {{0, {1.0}}, {4, {2.0}}, {8, {3.0}}, {12, {4.0}}};
  const RunOutcome out = run(toy);
  EXPECT_EQ(out.kept, 0u);
  EXPECT_EQ(toy.x, 0);
}

TEST(Engine, WithoutKeepingTheLastIsTheResult) {
  Toy toy;
  toy.own.checks = true;
  toy.checks = {{4, {1.0}}, {8, {2.0}}, {12, {3.0}}};
  EXPECT_FALSE(run(toy).kept);
  EXPECT_EQ(toy.x, x_after(12));
}

TEST(Engine, DivergenceGoesBackToTheLastGoodParameters) {
  for (const auto& [at, back] : {std::pair<uint64_t, uint64_t>{0, 0}, {3, 0}, {4, 0}, {5, 4}, {11, 8}}) {
    Toy toy;
    toy.diverges_at = at;
    const RunOutcome out = run(toy);
    EXPECT_EQ(out.ending, Ending::diverged);
    EXPECT_EQ(out.reason, "the loss became infinite or NaN at step " + std::to_string(at) + "; try patience");
    EXPECT_EQ(out.steps, at);
    EXPECT_EQ(toy.x, x_after(back)) << at;
  }
  Toy refused;
  refused.diverges_at = 6;
  refused.refuses_good = true;
  run(refused);
  EXPECT_EQ(refused.x, x_after(6));  // there is nothing to go back to
}

TEST(Engine, DivergenceGoesBackToTheBestOnceThereIsOne) {
  Toy toy;
  toy.own.checks = toy.own.keeps_best = true;
  toy.checks = {{4, {1.0}}, {8, {2.0}}};
  toy.diverges_at = 10;
  const RunOutcome out = run(toy);
  EXPECT_EQ(out.ending, Ending::diverged);
  EXPECT_EQ(out.kept, 4u);
  EXPECT_EQ(toy.x, x_after(4));
  EXPECT_EQ(toy.good, (std::vector<uint64_t>{0}));  // none is kept beside the best
}

TEST(Engine, WhatCannotBeUsedAtTheEndHasDiverged) {
  Toy toy;
  toy.is_spoilt_at_end = true;
  const RunOutcome out = run(toy);
  EXPECT_EQ(out.ending, Ending::diverged);
  EXPECT_EQ(out.steps, 12u);
  EXPECT_EQ(toy.x, x_after(8));
  Toy checked;
  checked.own.checks = true;
  checked.checks[8] = {.criterion = std::nullopt, .is_usable = false};
  EXPECT_EQ(run(checked).steps, 8u);
  EXPECT_EQ(checked.x, x_after(4));
}

TEST(Engine, ARunThatCannotBeginSaysSoAsItIs) {
  struct Lost : Toy {
    Step begin() override { return Step::diverged("nothing there"); }
  } toy;
  const RunOutcome out = run(toy);
  EXPECT_EQ(out.ending, Ending::diverged);
  EXPECT_EQ(out.reason, "nothing there");
}

class EngineFiles : public testing::Test {
 protected:
  CheckpointOptions files(bool resume) const { return {scratch_ / "c", 1e9, resume}; }
  Scratch scratch_;
};

Toy rich() {
  Toy toy;
  toy.own.checks = toy.own.keeps_best = true;
  toy.own.patience = 2;
  toy.own.check_every = 3;
  toy.own.good_every = 2;
  toy.checks = {{3, {2.0}}, {6, {1.0}}, {9, {1.5}}, {12, {1.25}}};
  return toy;
}

TEST_F(EngineFiles, AResumedRunHasTheSameBits) {
  for (const uint64_t diverges_at : {uint64_t{2}, uint64_t{10}, UINT64_MAX}) {
    Toy whole = rich();
    whole.diverges_at = diverges_at;
    Watcher watcher;
    const RunOutcome once = run(whole, {}, "", watcher);
    for (uint64_t every = 1; every <= 12; ++every) {
      std::vector<Progress> seen;
      RunOutcome out;
      double x = 0;
      for (bool resume = false;; resume = true) {
        Toy part = rich();
        part.diverges_at = diverges_at;
        Watcher stopper;
        stopper.stop_every = every;
        out = run(part, files(resume), "mark", stopper);
        seen.insert(seen.end(), stopper.seen.begin(), stopper.seen.end());
        x = part.x;
        EXPECT_EQ(part.begun, resume ? 0 : 1);
        if (out.ending != Ending::interrupted) break;
        EXPECT_EQ(out.reason, "interrupted");
      }
      EXPECT_EQ(x, whole.x) << every;
      EXPECT_EQ(out.reason, once.reason);
      EXPECT_EQ(out.kept, once.kept);
      EXPECT_EQ(out.last.step, once.last.step);
      EXPECT_EQ(out.last.loss, once.last.loss);
      EXPECT_EQ(out.last.valid_nll, once.last.valid_nll);
      ASSERT_EQ(seen.size(), watcher.seen.size());
      for (size_t i = 0; i < seen.size(); ++i) {
        EXPECT_EQ(seen[i].step, watcher.seen[i].step);
        EXPECT_EQ(seen[i].loss, watcher.seen[i].loss);
      }
      std::filesystem::remove(files(true).path);
    }
  }
}

TEST_F(EngineFiles, AnInterruptedRunHasTheBestSoFar) {
  Toy toy = rich();
  Watcher stopper;
  stopper.stop_every = 8;
  EXPECT_EQ(run(toy, files(false), "", stopper).kept, 6u);
  EXPECT_EQ(toy.now, 8u);
}

TEST_F(EngineFiles, AStepInterruptedInTheMiddleIsTakenAgain) {
  Toy whole;
  run(whole);
  for (const uint64_t at : {0, 5, 11}) {
    Toy toy;
    toy.interrupts_at = at;
    Watcher stopper;
    stopper.stop_every = at + 1;  // the poll inside the step
    const RunOutcome out = run(toy, files(false), "", stopper);
    EXPECT_EQ(out.ending, Ending::interrupted);
    EXPECT_EQ(out.steps, at);
    Toy rest;
    Watcher watcher;
    run(rest, files(true), "", watcher);
    EXPECT_EQ(rest.x, whole.x);
  }
  Toy unasked;
  unasked.interrupts_at = 3;
  EXPECT_THROW(run(unasked), Interrupted);
  withdraw_interruption();
}

TEST_F(EngineFiles, OtherOptionsAreRefused) {
  Toy toy, other;
  Watcher stopper;
  stopper.stop_every = 3;
  run(toy, files(false), "mark", stopper);
  EXPECT_THROW(run(other, files(true), "another", stopper), Error);
}

// One warning until it works again, and the one before stays.
TEST_F(EngineFiles, ACheckpointThatCannotBeWrittenIsOneWarningAndTriedAgain) {
  namespace fs = std::filesystem;
  const std::string folder = scratch_ / "run", path = folder + "/c";
  struct Mover : Watcher {
    std::string folder;
    bool stop_requested() override {  // before each checkpoint
      ++polls;
      if (polls == 3) fs::create_directory(folder);
      if (polls == 5) fs::rename(folder, folder + "2");
      return false;
    }
  } watcher;
  watcher.folder = folder;
  Toy toy;
  const RunOutcome out = run(toy, {path, 0, false}, "", watcher);
  EXPECT_EQ(out.ending, Ending::complete);
  ASSERT_EQ(watcher.warnings.size(), 2u);
  EXPECT_NE(watcher.warnings[0].find(path), std::string::npos) << watcher.warnings[0];
  EXPECT_EQ(Checkpoint::load(folder + "2/c").integer("step"), 4u);  // the last good one
}

TEST_F(EngineFiles, DamagedParametersAreAnError) {
  Toy toy = rich();
  Watcher stopper;
  stopper.stop_every = 8;
  run(toy, files(false), "", stopper);
  struct Larger : Toy {
    void take(Snapshot& out) const override { out.doubles = {x, x}; }
  } other;
  other.own = toy.own;
  EXPECT_THROW(run(other, files(true), "", stopper), Error);
}

struct Three : Members {
  std::unique_ptr<Toy> toy;
  std::vector<double> done;
  std::vector<std::string> reasons;

  uint64_t count() const override { return 3; }
  Problem& make(uint64_t i) override {
    toy = std::make_unique<Toy>(rich());
    toy->x = static_cast<double>(i);
    if (i == 1) toy->diverges_at = 7;
    return *toy;
  }
  void finish(uint64_t i, const RunOutcome& outcome) override {
    EXPECT_EQ(i, done.size());
    done.push_back(toy->x);
    reasons.push_back(outcome.reason);
  }
  void state(CheckpointFields& fields, uint64_t finished) override {
    done.resize(finished);
    fields("done", done);
  }
};

TEST_F(EngineFiles, MembersAreOneRun) {
  Three whole;
  Watcher watcher;
  EXPECT_EQ(run(whole, {}, "", watcher).ending, Ending::complete);
  ASSERT_EQ(whole.done.size(), 3u);
  EXPECT_NE(whole.reasons[1].find("at step 7"), std::string::npos);
  for (size_t i = 0; i < watcher.seen.size(); ++i) {
    EXPECT_EQ(watcher.seen[i].steps, 36u);
    if (i > 0) {
      EXPECT_GT(watcher.seen[i].step, watcher.seen[i - 1].step);
    }
  }
  for (const uint64_t every : {1, 5, 12}) {
    std::vector<double> done;
    for (bool resume = false;; resume = true) {
      Three part;
      Watcher stopper;
      stopper.stop_every = every;
      const RunOutcome out = run(part, files(resume), "", stopper);
      done = part.done;
      if (out.ending != Ending::interrupted) break;
    }
    EXPECT_EQ(done, whole.done) << every;
    std::filesystem::remove(files(true).path);
  }
}

// A parabola of two coordinates, at most so many iterations.
struct Parabola final : LbfgsProblem<double> {
  explicit Parabola(uint64_t most) : LbfgsProblem({}), most_(most) { plan_.unit = "iterations"; }
  Step begin() override {
    lbfgs_.start({1, 2});
    return {};
  }
  using LbfgsProblem::point;

 protected:
  size_t parameters() const override { return 2; }
  double evaluate(std::span<const double> x, std::span<double> gradient) override {
    gradient[0] = x[0] - 3;
    gradient[1] = 50 * (x[1] + 1);
    return 0.5 * (gradient[0] * gradient[0] + gradient[1] * gradient[1] / 50);
  }
  std::string limit() override { return lbfgs_.state().iteration >= most_ ? "enough" : ""; }

 private:
  uint64_t most_;
};

TEST_F(EngineFiles, FullPassesFinishByThemselvesAndResume) {
  Parabola whole(1000), part(1000), few(2);
  const RunOutcome out = run(whole);
  EXPECT_EQ(out.ending, Ending::complete);
  EXPECT_NE(out.reason.find("converged"), std::string::npos) << out.reason;
  EXPECT_NEAR(whole.point()[0], 3, 1e-3);
  EXPECT_NEAR(whole.point()[1], -1, 1e-3);
  EXPECT_EQ(run(few).reason, "enough");
  Watcher stopper;
  stopper.stop_every = 2;
  ASSERT_EQ(run(part, files(false), "", stopper).ending, Ending::interrupted);
  Parabola rest(1000);
  Watcher watcher;
  run(rest, files(true), "", watcher);
  EXPECT_EQ(rest.point(), whole.point());
}

}  // namespace
}  // namespace selfnorm
