// One task with every objective over the seeds.
#pragma once

#include "experiments/regression/task_data.h"
#include "experiments/summary.h"

namespace selfnorm {

constexpr const char* kAsLearned = "snl, b as learned";
constexpr size_t kPictureCells = 96;  // a side

// Rows of the tables: the objectives, and snl without the last fit of b.
std::vector<std::string> task_entries();
size_t task_place(const std::string& entry);

struct RegressionTaskRun {
  int number;  // 1 or 2
  TaskData data;
  // Of every entry, of every seed: the numbers of run_trial (regression_trial.h), and
  //   measure        task 1: KL(true || model); task 2: test NLL; the model normalised on the grid
  //   measure_whole  the same, the model normalised on the whole line
  // and a picture of the first seed of snl.
  std::vector<std::vector<CellValues>> cells = {};

  const char* measure() const { return number == 1 ? "KL" : "NLL"; }
};

void run_task(RegressionTaskRun& task, Trials& trials, const ExperimentOptions& options, size_t seeds);

// The grid of a picture over the same range.
LineGrid picture_grid(const LineGrid& grid);

}  // namespace selfnorm
