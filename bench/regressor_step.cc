// The training step of a regressor by snl as `train regressor` takes it: 128 of 12,800 rows of 8 numbers,
// features 64-64, mixture of 8, tilt 48-48, 16 draws a row, b by a layer of 32, gradient, Adam. No weight
// decay, input noise, schedule or checks; clipping and the moving average, which cannot be left out, count as
// ours. bench/regressor_step.py measures the same step in PyTorch in the same run. Prints "steps per second,
// mean loss of the last 200 steps". Reproduce: bench_regressor_step STEPS THREADS (STEPS in hundreds)
#include <fmt/format.h>

#include <cstdlib>

#include "family/regressor/train/regressor_member.h"
#include "math/parallel.h"
#include "measure.h"
#include "regression_data.h"

namespace {

using namespace selfnorm;

constexpr uint64_t kRows = 12'800, kBatch = 128, kStepsOfEpoch = kRows / kBatch, kLast = 200;

RegressorOptions options_of(uint64_t steps) {
  RegressorOptions out;
  out.ensemble = 1;
  out.features = {64, 64};
  out.joint = {48, 48};
  out.normalizer = {32};
  out.components = 8;
  out.samples = 16;
  out.batch = kBatch;
  out.epochs = steps / kStepsOfEpoch;
  out.warm_up = 0;
  out.input_noise = 0;
  out.learning_rate = 1e-3;
  out.normalizer_rate = 1;
  out.schedule = "constant";
  out.weight_decay = 0;
  out.ramp = 0;
  out.checks = 1;
  return out;
}

// Of the reports of the last kLast steps.
struct LastLosses : TrainObserver {
  explicit LastLosses(uint64_t all) : steps(all) {}
  void on_progress(const Progress& progress) override {
    if (progress.step + kLast <= steps) return;
    sum += progress.loss;
    ++reports;
  }
  uint64_t steps;
  double sum = 0, reports = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const uint64_t steps = argc == 3 ? std::strtoull(argv[1], nullptr, 10) : 0;
  if (steps < kLast || steps % kStepsOfEpoch != 0) {
    fmt::print(stderr, "usage: bench_regressor_step STEPS THREADS, STEPS a multiple of {} from {}\n",
               kStepsOfEpoch, kLast);
    return 1;
  }
  const ThreadLimit limit(std::atoi(argv[2]));
  const Frame frame = bench::regression_frame(kRows, 5);
  const std::vector<uint64_t> rows = bench::all_rows(frame);
  const RegressorProblem problem(frame, {"y"}, rows, {}, options_of(steps));
  RegressorMember member(problem, 1, rows, {});
  LastLosses last(steps);
  const double seconds = bench::seconds([&] { run(member, {}, "", last); });
  fmt::print("{:.1f} {:.4f}\n", static_cast<double>(steps) / seconds, last.sum / last.reports);
}
