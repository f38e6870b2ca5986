#include "experiments/regression/task_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace selfnorm {
namespace {

constexpr double kDivergenceTarget = 0.025, kLikelihoodTarget = 1.45, kTaskNormalizerTarget = 0.1;
constexpr double kTrueLikelihood = 1.2387;  // NLL of the test rows of task 2 under their true density
constexpr double kDivergenceNoise = 1e-3;   // of the quadratures of task 1

double largest(const std::vector<double>& values) {
  double out = 0;
  for (const double v : values) out = std::isfinite(v) ? std::max(out, v) : INFINITY;
  return out;
}

Panel picture_panel(const std::string& title, const TaskData& data, std::vector<double> picture) {
  Panel out{.title = title,
            .x = {.label = "x", .low = data.x.low, .high = data.x.high},
            .y = {.label = "y", .low = data.y.low, .high = data.y.high},
            .series = {}};
  out.heat = {.columns = kPictureCells, .rows = kPictureCells, .value = std::move(picture)};
  return out;
}

}  // namespace

void Judgement::add(const std::string& what, const std::string& asked, const std::string& found,
                    bool is_met) {
  table_.add({what, asked, found, is_met ? "MET" : "MISSED"});
  met_ += is_met ? 1 : 0;
  if (is_met) return;
  missed_ += fmt::format("{}{} ({}, asked {})", missed_.empty() ? "" : "; ", what, found, asked);
}

void judge(const RegressionTaskRun& task, Judgement& out, Record& record) {
  const std::vector<CellValues>& snl = task.cells[task_place("snl")];
  const double target = task.number == 1 ? kDivergenceTarget : kLikelihoodTarget;
  const MeanError mean = mean_of(snl, "measure");
  out.add(fmt::format("{}: {} of snl", task.data.name, task.measure()), fmt::format("at most {}", target),
          written(mean), mean.missing == 0 && mean.mean <= target);
  for (const char* other : {"nce", "is", "mdn"})
    out.add(fmt::format("{}: snl - {}", task.data.name, other), "no worse",
            written(mean_difference(snl, task.cells[task_place(other)], "measure")),
            is_no_worse(snl, task.cells[task_place(other)], "measure"));
  const double b_rms = largest(numbers_of(snl, "b_rms")),
               learned = largest(numbers_of(task.cells[task_place(kAsLearned)], "b_rms"));
  out.add(fmt::format("{}: largest rms(b - A) of snl", task.data.name),
          fmt::format("at most {}", kTaskNormalizerTarget), fmt::format("{:.4f}", b_rms),
          b_rms <= kTaskNormalizerTarget);
  const std::string suffix = fmt::format("_task{}", task.number);
  record.facts.emplace_back("snl" + suffix, mean.mean);
  record.facts.emplace_back("snl_largest_b_rms" + suffix, b_rms);
  record.facts.emplace_back("snl_largest_b_rms_as_learned" + suffix, learned);

  double lowest = INFINITY;  // of measure - that of the truth + noise
  for (const auto& cells : task.cells)
    for (const CellValues& cell : cells) {
      const double above = task.number == 1
                               ? cell.at("measure_whole") + kDivergenceNoise
                               : cell.at("measure_whole") - kTrueLikelihood + 2 * cell.at("nll_error");
      if (std::isfinite(above)) lowest = std::min(lowest, above);
    }
  const bool has_lowest = std::isfinite(lowest);
  out.add(task.number == 1
              ? fmt::format("{}: lowest KL of all + {}, the error of its quadratures", task.data.name,
                            kDivergenceNoise)
              : fmt::format("{}: lowest of all of NLL - {} of the truth + 2 standard errors of that NLL",
                            task.data.name, kTrueLikelihood),
          "at least 0", has_lowest ? fmt::format("{:.4f}", lowest) : "no finite value",
          has_lowest && lowest >= 0);
  record.facts.emplace_back("lowest_above_truth" + suffix, lowest);
}

Table task_table(const RegressionTaskRun& task) {
  const std::vector<std::string> names = task_entries();
  const LineGrid& y = task.data.y;
  Table out{.caption = task.number == 1
                           ? fmt::format("Task 1: KL(true || model) in nats, mean over {} x {} midpoints.",
                                         task.data.x.points, y.points)
                           : fmt::format("Task 2: NLL of {} test rows in nats; the true density has {}.",
                                         task.data.test.size(), kTrueLikelihood),
            .columns = {"objective", fmt::format("{}, normalised on the grid", task.measure()),
                        "on the whole line", "CRPS", "rms(b - A)", "tilted", "seconds"},
            .rows = {}};
  for (size_t i = 0; i < names.size(); ++i) {
    const auto& cells = task.cells[i];
    out.add({names[i], written(mean_of(cells, "measure")), written(mean_of(cells, "measure_whole")),
             written(mean_of(cells, "crps")), written(mean_of(cells, "b_rms")),
             percent(mean_of(cells, "tilted")), mean_of(cells, "seconds").mean});
  }
  return out;
}

Panel task_panel(const RegressionTaskRun& task) {
  const std::vector<std::string> names = task_entries();
  const double truth = task.number == 1 ? 0 : kTrueLikelihood;
  Panel out{.title = fmt::format("Task {}", task.number),
            .x = {.label = "objective", .ticks = {}},
            .y = {.label = task.number == 1 ? "KL(true || model), nats" : "NLL above the truth, nats",
                  .logarithmic = true},
            .series = {{.name = "", .x = {}, .y = {}, .stroke = Stroke::marks, .colour = 0}}};
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == kAsLearned) continue;
    const MeanError mean = mean_of(task.cells[i], "measure");
    out.x.ticks.push_back(names[i]);
    Series& series = out.series[0];
    series.x.push_back(static_cast<double>(out.x.ticks.size()));
    series.y.push_back(mean.mean > truth ? mean.mean - truth : NAN);
    series.error.push_back(mean.error);
  }
  return out;
}

Figure task_pictures(const std::vector<RegressionTaskRun>& tasks) {
  Figure out{.title = "Densities of y given x (darkness: the square root)", .panels = {}};
  for (const RegressionTaskRun& task : tasks) {
    const std::vector<double>& learned = task.cells[task_place("snl")][0].grid;
    if (task.number == 1)
      out.panels.push_back(
          picture_panel("Task 1: truth", task.data,
                        density_picture(*make_regression_task("task1"), picture_grid(task.data.x),
                                        picture_grid(task.data.y))));
    if (learned.empty()) continue;
    out.panels.push_back(
        picture_panel(fmt::format("Task {}: learned by snl", task.number), task.data, learned));
  }
  return out;
}

void add_numbers(const RegressionTaskRun& task, uint64_t first_seed, Table& data) {
  const std::vector<std::string> names = task_entries();
  for (size_t e = 0; e < names.size(); ++e)
    for (size_t i = 0; i < task.cells[e].size(); ++i) {
      std::vector<Cell> row = {task.data.name, names[e], static_cast<double>(first_seed + i)};
      for (size_t c = row.size(); c < data.columns.size(); ++c)
        row.emplace_back(task.cells[e][i].at(data.columns[c]));
      data.add(std::move(row));
    }
}

}  // namespace selfnorm
