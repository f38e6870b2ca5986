// Gap of a known mixture against dimension, number of samples and width of the proposal; pcd with the time
// that snl took.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/density/trial.h"

namespace selfnorm {
namespace {

const std::vector<uint32_t> kDimensions = {2, 4, 8, 16, 32};
const std::vector<uint64_t> kSamples = {16, 64, 256, 1024, 4096};
const std::vector<double> kWidths = {0.5, 0.7, 1, 1.5, 2, 3, 4};
const std::vector<std::string> kObjectives = {"snl", "nce", "is"};
constexpr uint32_t kDimension = 4;  // of the sweeps of samples and width
constexpr size_t kSensitivitySeeds = 4;
constexpr uint64_t kPilotSteps = 100;    // of pcd, to learn what a step costs
constexpr double kLeastEffective = 100;  // draws behind a log Z that is believed

struct Sweep {
  std::string name, label;  // of the CSV, of the axis
  std::vector<double> values;
  std::vector<std::string> lines;                           // in the legend
  std::vector<std::vector<std::vector<CellValues>>> cells;  // by line, value, seed
};

DensityTrial common_trial(const ExperimentOptions& options) {
  DensityTrial out;
  out.toy = "mixture";
  out.dimension = kDimension;
  out.log_z = DensityTrial::LogZ::importance;
  if (options.reduced()) out.reference_draws = 10'000;
  out.rows = options.reduced() ? 500 : 10'000;
  out.test_rows = options.reduced() ? 500 : 10'000;
  DensityOptions& o = out.options;
  o.energy = options.reduced() ? "mlp:16,16" : "mlp:64,64";
  o.fourier = "0";
  o.steps = options.reduced() ? 60 : 1500;
  o.batch = options.reduced() ? 64 : 256;
  o.samples = 256;
  o.patience = 0;
  o.normalizer_steps = options.reduced() ? 10 : 200;
  o.proposal = "gaussian";
  o.langevin_steps = options.reduced() ? 2 : 20;
  return out;
}

// pcd with as many steps as take the seconds that snl took at the same seed.
CellValues timed_pcd(Trials& trials, DensityTrial trial, const CellValues& snl) {
  trial.options.objective = "pcd";
  const uint64_t most = trial.options.steps;
  trial.options.steps = std::min(kPilotSteps, most);
  const double per_step =
      trial_cell(trials, trial, 0.2).at("seconds") / static_cast<double>(trial.options.steps);
  trial.options.steps = std::max<uint64_t>(1, static_cast<uint64_t>(snl.at("seconds") / per_step));
  CellValues out = trial_cell(trials, trial, 1);
  out.numbers["steps"] = static_cast<double>(trial.options.steps);
  return out;
}

// A gap whose log Z hangs on a few draws says nothing.
MeanError believed_gap(std::vector<CellValues> cells) {
  for (CellValues& cell : cells)
    if (!(cell.at("trusted") >= kLeastEffective)) cell.numbers["gap"] = NAN;
  return mean_of(cells, "gap");
}

Panel panel_of(const Sweep& sweep, const std::string& title) {
  Panel out{.title = title,
            .x = {.label = sweep.label, .logarithmic = true},
            .y = {.label = "gap (nats)", .logarithmic = true},
            .series = {}};
  for (size_t l = 0; l < sweep.lines.size(); ++l) {
    Series series{.name = sweep.lines[l],
                  .x = {},
                  .y = {},
                  .stroke = Stroke::line_points,
                  .colour = static_cast<uint32_t>(l)};
    for (size_t v = 0; v < sweep.values.size(); ++v) {
      const MeanError gap = believed_gap(sweep.cells[l][v]);
      series.x.push_back(sweep.values[v]);
      series.y.push_back(gap.mean > 0 ? gap.mean : NAN);
      series.error.push_back(gap.error);
    }
    out.series.push_back(std::move(series));
  }
  return out;
}

Table table_of(const Sweep& sweep, const std::string& caption) {
  Table out{.caption = caption, .columns = {sweep.label}, .rows = {}};
  for (const std::string& line : sweep.lines) out.columns.push_back(line);
  out.columns.emplace_back("effective samples of snl");
  out.columns.emplace_back("b - log Z of snl");
  for (size_t v = 0; v < sweep.values.size(); ++v) {
    std::vector<Cell> row = {sweep.values[v]};
    for (size_t l = 0; l < sweep.lines.size(); ++l)
      row.emplace_back(written(believed_gap(sweep.cells[l][v])));
    row.emplace_back(percent(mean_of(sweep.cells[0][v], "effective")));
    row.emplace_back(written(mean_of(sweep.cells[0][v], "learned")));
    out.add(std::move(row));
  }
  return out;
}

// The line of the least mean gap at a value of the sweep; lines that failed do not count.
std::string best_line(const Sweep& sweep, size_t value) {
  std::string out = "none";
  double least = INFINITY;
  for (size_t l = 0; l < sweep.lines.size(); ++l) {
    const double gap = believed_gap(sweep.cells[l][value]).mean;
    if (!(gap < least)) continue;
    least = gap;
    out = fmt::format("{} ({:.3f})", sweep.lines[l], gap);
  }
  return out;
}

}  // namespace

Record run_density_sensitivity(const ExperimentOptions& options) {
  const DensityTrial common = common_trial(options);
  std::vector<uint32_t> dimensions = kDimensions;
  std::vector<uint64_t> samples = kSamples;
  std::vector<double> widths = kWidths;
  size_t seeds = kSensitivitySeeds;
  if (options.reduced()) {
    dimensions = {2, 4};
    samples = {16, 256};
    widths = {0.5, 1, 4};
    seeds = 2;
  }
  double work = 0;
  const double per_value = static_cast<double>(seeds * kObjectives.size());
  for (const uint32_t d : dimensions) work += static_cast<double>(seeds) * (4 + 1.2 + d / 16.0);
  for (const uint64_t m : samples) work += per_value * (0.5 + static_cast<double>(m) / 512);
  work += per_value * static_cast<double>(widths.size());
  Trials trials(options, work);

  Sweep by_dimension{"dimension", "dimension", {}, kObjectives, {}};
  by_dimension.lines.insert(by_dimension.lines.end(), {"snl, mixture:32", "pcd, the time of snl"});
  by_dimension.cells.resize(by_dimension.lines.size());
  double pcd_steps = 0;
  for (const uint32_t d : dimensions) {
    by_dimension.values.push_back(d);
    DensityTrial trial = common;
    trial.dimension = d;
    for (size_t l = 0; l < kObjectives.size(); ++l) {
      trial.options.objective = kObjectives[l];
      by_dimension.cells[l].push_back(over_seeds(trials, trial, 1, seeds));
    }
    trial.options.objective = "snl";
    trial.options.proposal = "mixture:32";
    by_dimension.cells[3].push_back(over_seeds(trials, trial, 1 + d / 16.0, seeds));
    trial.options.proposal = common.options.proposal;
    std::vector<CellValues> chains;
    for (size_t i = 0; i < seeds; ++i) {
      trial.options.seed = trials.seed(i);
      trial.options.threads = options.threads;
      chains.push_back(timed_pcd(trials, trial, by_dimension.cells[0].back()[i]));
      pcd_steps += chains.back().at("steps") / static_cast<double>(seeds * dimensions.size());
    }
    by_dimension.cells[4].push_back(std::move(chains));
  }
  Sweep by_samples{"samples", "samples per step, M", {}, kObjectives, {}};
  Sweep by_width{"width", "width of the Gaussian, in that of the data", widths, kObjectives, {}};
  by_samples.cells.resize(kObjectives.size());
  by_width.cells.resize(kObjectives.size());
  for (size_t l = 0; l < kObjectives.size(); ++l) {
    DensityTrial trial = common;
    trial.options.objective = kObjectives[l];
    for (const uint64_t m : samples) {
      trial.options.samples = m;
      by_samples.cells[l].push_back(over_seeds(trials, trial, 0.5 + static_cast<double>(m) / 512, seeds));
    }
    trial.options.samples = common.options.samples;
    for (const double width : widths) {
      trial.options.fit.scale = width;
      by_width.cells[l].push_back(over_seeds(trials, trial, 1, seeds));
    }
  }
  for (const uint64_t m : samples) by_samples.values.push_back(static_cast<double>(m));

  Record out;
  out.name = "density-sensitivity";
  out.title = "dimension, samples and proposal width";
  out.data.columns = {"sweep",     "value",      "line",    "seed",    "gap",       "gap_error",
                      "log_z_low", "log_z_high", "trusted", "learned", "effective", "seconds"};
  uint64_t failed = 0, all = 0;
  for (const Sweep* sweep : {&by_dimension, &by_samples, &by_width}) {
    for (size_t l = 0; l < sweep->lines.size(); ++l) {
      for (size_t v = 0; v < sweep->values.size(); ++v) {
        for (size_t i = 0; i < seeds; ++i) {
          const CellValues& cell = sweep->cells[l][v][i];
          std::vector<Cell> row = {sweep->name, sweep->values[v], sweep->lines[l],
                                   static_cast<double>(trials.seed(i))};
          for (size_t c = row.size(); c < out.data.columns.size(); ++c)
            row.emplace_back(cell.at(out.data.columns[c]));
          out.data.add(std::move(row));
          failed += cell.at("trusted") >= kLeastEffective ? 0 : 1;
          ++all;
        }
      }
    }
  }
  out.tables = {
      table_of(
          by_dimension,
          fmt::format(
              "Gap against the dimension; {} samples of a fitted Gaussian, unless the column says mixture.",
              common.options.samples)),
      table_of(by_samples, fmt::format("Gap against the number of samples in {} dimensions.", kDimension)),
      table_of(by_width, fmt::format("Gap against the width of the proposal in {} dimensions, {} samples.",
                                     kDimension, common.options.samples))};
  out.figure = {.title = "Sensitivity of the gap",
                .panels = {panel_of(by_dimension, "Dimension"), panel_of(by_samples, "Samples"),
                           panel_of(by_width, "Width of the proposal")}};
  const auto gap_at = [](const Sweep& sweep, size_t line, size_t value) {
    return believed_gap(sweep.cells[line][value]).mean;
  };
  const auto gap_words = [&gap_at](const Sweep& sweep, size_t line, size_t value) {
    const double gap = gap_at(sweep, line, value);
    return std::isfinite(gap) ? fmt::format("{:.3f}", gap) : "no number (no seed had a log Z)";
  };
  const size_t last_d = dimensions.size() - 1, last_m = samples.size() - 1, last_w = widths.size() - 1;
  out.facts = {{"snl_gap_lowest_dimension", gap_at(by_dimension, 0, 0)},
               {"snl_gap_highest_dimension", gap_at(by_dimension, 0, last_d)},
               {"snl_gap_fewest_samples", gap_at(by_samples, 0, 0)},
               {"snl_gap_most_samples", gap_at(by_samples, 0, last_m)},
               {"snl_gap_narrowest", gap_at(by_width, 0, 0)},
               {"snl_gap_widest", gap_at(by_width, 0, last_w)},
               {"cells_without_a_log_z", static_cast<double>(failed)}};
  out.looks = {
      "Lower is better and 0 is the truth: look for where the lines leave each other as the dimension grows, "
      "samples become few or the proposal does not fit."};
  out.paper =
      "The gap against dimension (2 to 32, a known mixture), the number of samples M and the width of the "
      "proposal, which the reviewers of [SNL] asked for; MCMC at equal wall time.";
  out.measured = fmt::format(
      "With a single Gaussian the gap of snl goes from {} in {} dimensions to {} in {}; the least gap there "
      "is that of {}. From {} to {} samples it goes from {} to {} (least with the fewest: {}). With a "
      "Gaussian {} times as wide as the data it is {}, with {} times {}; the least are those of {} and {}. "
      "In the time of snl, pcd takes {:.0f} steps of {} on average. log Z could not be believed in {} of {} "
      "trainings (fewer than {} effective draws); they are left out.",
      gap_words(by_dimension, 0, 0), dimensions[0], gap_words(by_dimension, 0, last_d), dimensions[last_d],
      best_line(by_dimension, last_d), samples[0], samples[last_m], gap_words(by_samples, 0, 0),
      gap_words(by_samples, 0, last_m), best_line(by_samples, 0), widths[0], gap_words(by_width, 0, 0),
      widths[last_w], gap_words(by_width, 0, last_w), best_line(by_width, 0), best_line(by_width, last_w),
      pcd_steps, common.options.steps, failed, all, kLeastEffective);
  out.differences =
      "Eight Gaussians of known density (toy `mixture`). log Z by importance sampling from the truth and the "
      "proposal in equal parts, 100,000 draws; the CSV has its interval. pcd: 20 Langevin steps of as many "
      "chains as samples, from the same start; a pilot of 100 steps measures what a step costs.";
  out.settings = {{"training points", std::to_string(common.rows)},
                  {"energy", common.options.energy},
                  {"steps", std::to_string(common.options.steps)},
                  {"rows per step", std::to_string(common.options.batch)},
                  {"samples per step", std::to_string(common.options.samples)},
                  {"seeds", fmt::format("{} from {}", seeds, trials.seed(0))}};
  return out;
}

}  // namespace selfnorm
