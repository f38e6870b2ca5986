// When to write checkpoints, and how long the run has taken, resumed parts included.
#pragma once

#include <chrono>
#include <functional>

#include "selfnorm/train/checkpoint.h"
#include "selfnorm/train/trainer.h"

namespace selfnorm {

class Pace {
 public:
  Pace(const CheckpointOptions& options, std::string fingerprint, TrainObserver& observer);

  double seconds() const;  // since the first start of the run

  // The checkpoint to continue from, or nothing. Throws Error when it belongs to other data or options.
  bool resumes(Checkpoint& checkpoint);

  // Writes what `fill` puts into a checkpoint when one is due or `now` asks for it. Writing takes at most
  // about a tenth of the run's time. One that cannot be written is a warning: the one before stays, and the
  // next is tried when it is due.
  void checkpoint(bool now, const std::function<void(Checkpoint&)>& fill);

 private:
  using Clock = std::chrono::steady_clock;

  CheckpointOptions options_;
  std::string fingerprint_;
  TrainObserver& observer_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point written_ = start_;
  double earlier_seconds_ = 0;
  double write_seconds_ = 0;
  bool is_failing_ = false;
};

}  // namespace selfnorm
