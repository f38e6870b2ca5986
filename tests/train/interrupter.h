#pragma once

#include <cstdint>

#include "selfnorm/train/trainer.h"

namespace selfnorm {

// Asks to stop at every `every`-th step.
struct Interrupter : TrainObserver {
  explicit Interrupter(uint64_t every) : every_(every) {}
  bool stop_requested() override { return ++polls_ % every_ == 0; }

 private:
  uint64_t every_;
  uint64_t polls_ = 0;
};

}  // namespace selfnorm
