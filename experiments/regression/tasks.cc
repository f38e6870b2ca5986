// Two regressions of one input: every objective with the same networks against a known density.
#include <fmt/format.h>

#include "experiments/regression/settings.h"
#include "experiments/regression/task_page.h"

namespace selfnorm {
namespace {

constexpr size_t kTaskSeeds = 5;

void describe_tasks(Record& out) {
  out.name = "regression-tasks";
  out.title = "two tasks with a known truth, every objective";
  out.looks = {
      "Lower is better and 0 is the truth: snl should be no higher than the others beyond the error bars; "
      "A(x) is integrated, never b(x).",
      "What was learned should look like the truth: the same branches, as sharp, and nothing between them."};
  out.paper = fmt::format(
      "Of snl: KL(true || model) at most 0.025 on task 1, test NLL at most 1.45 on task 2 (the true density "
      "has 1.2387), no worse than nce, is and mdn with the same networks beyond seed noise ({}), rms of b(x) "
      "- A(x) at most 0.1. Nobody may be better than the truth. An untuned prototype had KL 0.029 and NLL "
      "1.516 for snl, 0.025 and 1.500 for mdn.",
      kNoWorse);
  out.differences =
      "All objectives train the same networks for the same steps: the mixture alone at first, then a tilt of "
      "it; mdn is the mixture without a tilt. \"On the grid\": p is exp(s) over its sum on the grid, "
      "midpoints of [-3, 3]^2 in task 1 and of [-12.5, 12.5] in task 2. \"On the whole line\": A(x) is by "
      "adaptive quadrature to 1e-4, and mass beyond the grid counts against the model. rms(b - A) is over "
      "test rows, A by quadrature; in task 1 these are drawn from the true density. At the end of training b "
      "is fitted to exact A of training inputs, for every objective; \"b as learned\" is snl without that. "
      "In task 1 a tenth of the rows, another for every seed, is held out for checks, in task 2 those of the "
      "validation file. mcmc starts chains at the data, 16 steps; step 0.05 (mcmc) and sigma 0.2 (dsm) are "
      "in units of y in task 1 and the defaults in task 2; nce+ and kld-is have noise 0.025 in units of y. "
      "Tilted: share of the seeds in which |A(x)| is above 0.001 on some test row; the others are their "
      "mixture alone: the best check came before the tilt, or there is none. Seconds are of processor time "
      "in training. The defaults of training were chosen while looking at these numbers, so they are a "
      "little optimistic, for all objectives alike.";
  out.data.columns = {"task",  "objective",  "seed",   "measure", "measure_whole",
                      "nll",   "nll_error",  "nll_b",  "crps",    "rmse",
                      "b_rms", "quadrature", "tilted", "seconds", "diverged"};
}

}  // namespace

Record run_regression_tasks(const ExperimentOptions& options) {
  const size_t seeds = options.reduced() ? 2 : kTaskSeeds;
  Record out;
  describe_tasks(out);
  std::vector<RegressionTaskRun> tasks;
  std::string missing;
  for (RegressionTaskRun task :
       {RegressionTaskRun{1, read_first_task(options)}, RegressionTaskRun{2, read_second_task(options)}}) {
    if (task.data.is_there())
      tasks.push_back(std::move(task));
    else
      missing += (missing.empty() ? "" : ", ") + task.data.name;
  }
  Trials trials(options, static_cast<double>(tasks.size() * task_entries().size() * seeds));
  Judgement judgement;
  std::vector<Table> tables;
  for (RegressionTaskRun& task : tasks) {
    run_task(task, trials, options, seeds);
    add_numbers(task, regression_seed(options, 0), out.data);
    judge(task, judgement, out);
    tables.push_back(task_table(task));
    out.figure.panels.push_back(task_panel(task));
  }
  out.facts.emplace_back("tasks", static_cast<double>(tasks.size()));
  out.facts.emplace_back("targets", static_cast<double>(judgement.count()));
  out.facts.emplace_back("targets_met", static_cast<double>(judgement.met()));
  if (!tasks.empty()) {
    out.measured = fmt::format("{} of {} targets met{}{}.", judgement.met(), judgement.count(),
                               judgement.missed().empty() ? "" : "; missed: ", judgement.missed());
    out.figure.title = "Distance from the truth, by objective";
    out.more_figures = {{"densities", task_pictures(tasks)}};
    out.tables.push_back(judgement.release());
    for (Table& table : tables) out.tables.push_back(std::move(table));
  }
  if (!missing.empty())
    out.measured +=
        fmt::format("{}NOT MEASURED: {}, whose files are not in '{}/ebm-1d' (--data DIR or SELFNORM_DATA).",
                    tasks.empty() ? "" : " ", missing, options.data);
  out.settings = described(task_settings(1, "snl", 1, options.extent));
  out.settings.emplace_back("seeds", fmt::format("{} from {}", seeds, regression_seed(options, 0)));
  options.progress(1);
  return out;
}

}  // namespace selfnorm
