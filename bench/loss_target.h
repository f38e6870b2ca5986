// Notes when training meets a loss, by both clocks, and stops there.
#pragma once

#include <chrono>

#include "family/classifier/trainer.h"
#include "measure.h"

namespace bench {

class LossTarget final : public selfnorm::TrainObserver {
 public:
  explicit LossTarget(double loss) : loss_(loss) {}

  void on_progress(const selfnorm::Progress& progress) override {
    last = progress;
    seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    processor = processor_now() - processor_start_;
    met = met || progress.loss <= loss_;
  }
  bool stop_requested() override { return met; }

  bool met = false;
  double seconds = 0, processor = 0;
  selfnorm::Progress last;

 private:
  using Clock = std::chrono::steady_clock;

  double loss_;
  Clock::time_point start_ = Clock::now();
  double processor_start_ = processor_now();
};

}  // namespace bench
