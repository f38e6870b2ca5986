#include "experiments/regression/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/regression/jobs.h"
#include "experiments/regression/settings.h"
#include "experiments/regression/trial.h"
#include "math/random.h"
#include "objective/registry.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint64_t kHeldOutStream = 0x4E1D;

RegressionTrial trial_of(const TaskData& data, int task, const std::string& entry,
                         const ExperimentOptions& options, uint64_t seed) {
  const bool as_learned = entry == kAsLearned;
  RegressionTrial out{
      .frame = &data.frame,
      .target = "y",
      .train = data.train,
      .valid = data.valid,
      .test = data.test,
      .options = task_settings(task, as_learned ? "snl" : entry, data.deviation, options.extent)};
  out.options.seed = seed;
  out.options.threads = 1;
  if (as_learned) out.options.calibrate = false;
  if (!data.valid.empty() || out.options.ensemble > 1) return out;
  const std::vector<uint64_t> order =
      random_permutation(data.train.size(), RandomStream(seed, kHeldOutStream));
  out.train.clear();
  for (size_t i = 0; i < order.size(); ++i)
    (i < order.size() / 10 ? out.valid : out.train).push_back(data.train[order[i]]);
  return out;
}

CellValues measured(const TaskData& data, int task, const RegressionTrial& trial, bool has_picture) {
  TrialResult result = run_trial(trial);
  CellValues& out = result.cell;
  out.numbers["measure"] = out.numbers["measure_whole"] = NAN;
  try {
    if (task == 1) {
      const GridDivergence kl = grid_divergence(result.model, *make_regression_task("task1"), data.x, data.y);
      out.numbers["measure"] = kl.on_grid;
      out.numbers["measure_whole"] = kl.whole;
    } else {
      const double nll = out.at("nll");
      out.numbers["measure"] = nll + mean_log_grid_mass(result.model, result.test.view(), data.y);
      out.numbers["measure_whole"] = nll;
    }
    if (has_picture) out.grid = density_picture(result.model, picture_grid(data.x), picture_grid(data.y));
  } catch (const Error&) {
    // a model that has no A has no divergence
  }
  return std::move(out);
}

}  // namespace

std::vector<std::string> task_entries() {
  std::vector<std::string> out = objective_names("regressor");
  out.insert(out.begin() + 1, kAsLearned);
  return out;
}

size_t task_place(const std::string& entry) {
  const std::vector<std::string> names = task_entries();
  return static_cast<size_t>(std::find(names.begin(), names.end(), entry) - names.begin());
}

LineGrid picture_grid(const LineGrid& grid) { return {grid.low, grid.high, kPictureCells}; }

void run_task(RegressionTaskRun& task, Trials& trials, const ExperimentOptions& options, size_t seeds) {
  std::vector<Job> jobs;
  for (const std::string& entry : task_entries())
    for (size_t i = 0; i < seeds; ++i) {
      const bool has_picture = entry == "snl" && i == 0;
      const RegressionTrial trial =
          trial_of(task.data, task.number, entry, options, regression_seed(options, i));
      jobs.push_back(
          {fmt::format("{} grid {} x {}{} {}", task.data.name, task.data.x.points, task.data.y.points,
                       has_picture ? " picture" : "", trial_key(trial)),
           1, [&task, trial, has_picture] { return measured(task.data, task.number, trial, has_picture); }});
    }
  const std::vector<CellValues> cells = run_jobs(trials, jobs, options.threads);
  for (size_t at = 0; at < cells.size(); at += seeds)
    task.cells.emplace_back(cells.begin() + static_cast<std::ptrdiff_t>(at),
                            cells.begin() + static_cast<std::ptrdiff_t>(at + seeds));
}

}  // namespace selfnorm
