#pragma once

#include <cstdint>
#include <stdexcept>

#include "base/interruption.h"
#include "family/classifier/trainer.h"

namespace selfnorm {

// Asks to stop at every `every`-th step.
struct Interrupter : TrainObserver {
  explicit Interrupter(uint64_t every) : every_(every) {}
  bool stop_requested() override { return ++polls_ % every_ == 0; }

 private:
  uint64_t every_;
  uint64_t polls_ = 0;
};

// Asks the loops to stop after so many steps and lets the trainer know once one of them has: a step that
// takes long.
struct LoopInterrupter : TrainObserver {
  explicit LoopInterrupter(uint64_t steps) : steps_(steps) {}
  bool stop_requested() override {
    if (++polls_ == steps_) request_interruption();
    if (polls_ > steps_) withdraw_interruption();
    return polls_ > steps_;
  }

 private:
  uint64_t steps_;
  uint64_t polls_ = 0;
};

// run(observer, resume) interrupted every few steps and resumed until it is done.
template <class Run>
auto finished_in_sessions(const Run& run, uint64_t every, int& sessions) {
  constexpr int kMost = 2000;
  for (sessions = 0;;) {
    Interrupter interrupter(every);
    auto part = run(interrupter, sessions > 0);
    if (++sessions == kMost) throw std::runtime_error("a run that is resumed comes to no end");
    if (!part.interrupted) return part;
  }
}

}  // namespace selfnorm
