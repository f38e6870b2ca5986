// Real tables: snl against densities fitted by the same tool to the same rows.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "experiments/density/real_table.h"
#include "experiments/density/trial.h"
#include "experiments/summary.h"
#include "family/density/density_evaluation.h"
#include "family/density/train/density_options.h"
#include "family/density/train/density_trainer.h"
#include "math/parallel.h"

namespace selfnorm {
namespace {

struct Source {
  const char *name, *path;
};
const std::vector<Source> kSources = {
    {"power-plant", "uci-regression/power-plant/data.txt"},
    {"kin8nm", "uci-regression/kin8nm/data.txt"},
    {"protein", "uci-regression/protein-tertiary-structure/data.txt"},
    {"letter", "letter/letter-recognition.data"},
};
const std::vector<std::string> kMethods = {"gaussian", "mixture", "kde", "snl"};
const std::vector<uint32_t> kComponents = {4, 16, 64};  // of the mixture; one is chosen on held-out rows
constexpr size_t kSeeds = 4;
constexpr double kTestShare = 0.1, kValidShare = 0.1;
constexpr uint64_t kSplitStream = 0x5B17, kLogZSeed = 3'000'000;

struct Split {
  std::vector<uint64_t> train, valid, test;
};

Split split_of(uint64_t rows, uint64_t seed) {
  const std::vector<uint64_t> order = random_permutation(rows, RandomStream(seed, kSplitStream));
  const auto test = order.begin() + static_cast<std::ptrdiff_t>(kTestShare * static_cast<double>(rows));
  const auto valid = test + static_cast<std::ptrdiff_t>(kValidShare * static_cast<double>(rows));
  return {{valid, order.end()}, {test, valid}, {order.begin(), test}};
}

std::vector<float> rows_of(const PointSource& data, const std::vector<uint64_t>& rows) {
  std::vector<float> out(rows.size() * data.columns());
  data.read(rows, out);
  return out;
}

DensityOptions table_settings(const ExperimentOptions& options) {
  DensityOptions out;
  out.energy = options.reduced() ? "mlp:16,16" : "mlp:128,128";
  out.patience = 0;
  out.steps = options.reduced() ? 60 : 3000;
  out.normalizer_steps = options.reduced() ? 10 : 200;
  out.batch = options.reduced() ? 64 : 512;
  out.samples = options.reduced() ? 64 : 1024;
  return out;
}

DensityResult fitted(const PointSource& data, const Split& split, DensityOptions options,
                     const std::string& proposal) {
  TrainObserver observer;
  options.objective = "fit";
  options.proposal = proposal;
  options.fit.defensive = 0;
  return train_density(data, split.train, {}, options, {}, observer);
}

// The number of components with the best likelihood of the held-out rows.
uint32_t chosen_components(const PointSource& data, const Split& split, const DensityOptions& options) {
  const std::vector<float> held_out = rows_of(data, split.valid);
  double best = -INFINITY;
  uint32_t chosen = kComponents[0];
  for (const uint32_t components : kComponents) {
    const DensityResult result = fitted(data, split, options, fmt::format("mixture:{}", components));
    double sum = 0;
    for (const double v : density_scores(result.model, {held_out.data(), split.valid.size(), data.columns()}))
      sum += v;
    if (!(sum > best)) continue;
    best = sum;
    chosen = components;
  }
  return chosen;
}

// ll, ll_error, log_z_low, log_z_high, effective, b_error, components, trusted, seconds.
CellValues measure(const PointSource& data, const Split& split, const std::string& method,
                   DensityOptions options, uint32_t components) {
  const ThreadLimit limit(options.threads);
  const double start = processor_seconds();
  TrainObserver observer;
  if (method == "mixture") components = chosen_components(data, split, options);
  options.proposal = fmt::format("mixture:{}", components);
  const DensityResult result =
      method == "snl" ? train_density(data, split.train, split.valid, options, {}, observer)
                      : fitted(data, split, options, method == "mixture" ? options.proposal : method);
  const double seconds = processor_seconds() - start;
  const auto test = make_point_source(data.columns(), rows_of(data, split.test));
  DensityEvaluationOptions how;
  how.method = "importance";
  how.seed = kLogZSeed + options.seed;
  const DensityEvaluation e = evaluate_density(result.model, *test, how);
  CellValues out;
  out.numbers = {{"ll", e.is_trusted ? -e.nll : NAN},
                 {"ll_error", e.nll_error},
                 {"log_z_low", e.log_z.low},
                 {"log_z_high", e.log_z.high},
                 {"log_z_reach", 0.5 * (e.log_z.high - e.log_z.low)},
                 {"effective", e.log_z.effective / static_cast<double>(how.samples)},
                 {"b_error", -e.log_ratio},
                 {"components", static_cast<double>(components)},
                 {"seconds", seconds}};
  return out;
}

void describe(Record& out, const DensityOptions& common) {
  out.name = "density-tables";
  out.title = "real tables";
  out.looks = {
      "Higher is better and 0 is a Gaussian with full covariance: snl should be above mixture and kde, "
      "beyond the error bars; log Z is by importance sampling."};
  out.paper =
      "Real tables, dequantised where needed and with train-only scaling: log-likelihood per row with error, "
      "against full-covariance Gaussian, mixture and KDE baselines fitted by the same tool.";
  out.differences =
      "All columns together are the row. A tenth of the rows is the test and another tenth held out: it "
      "chooses the number of components of the mixture and when snl stops. snl tilts that mixture (with a "
      "broad component of 5%) by a network; log Z is by importance sampling from it, 100,000 draws. Repeated "
      "rows are left out; columns of few repeated values get uniform noise of their last digit. Density "
      "units are those of the data.";
  out.settings = {{"energy", common.energy},
                  {"steps", std::to_string(common.steps)},
                  {"rows per step", std::to_string(common.batch)},
                  {"samples per step", std::to_string(common.samples)},
                  {"components", "4, 16 or 64"}};
  out.data.columns = {"table",      "method",    "seed",    "ll",         "ll_error", "log_z_low",
                      "log_z_high", "effective", "b_error", "components", "seconds"};
}

}  // namespace

Record run_density_tables(const ExperimentOptions& options) {
  const DensityOptions common = table_settings(options);
  const size_t seeds = options.reduced() ? 1 : kSeeds;
  Trials trials(options, static_cast<double>(kSources.size() * kMethods.size() * seeds));
  Record out;
  describe(out, common);
  Table described{.caption = "The tables.",
                  .columns = {"table", "rows", "columns", "repeated rows left out", "columns dequantised"},
                  .rows = {}};
  Table table{.caption =
                  "Test log-likelihood in nats per row, mean +- standard error over splits; test error: "
                  "standard error over the rows of a test set; log Z: half of its 95% interval.",
              .columns = {"table", "density", "log-likelihood", "test error", "log Z +-", "b - log Z",
                          "effective samples", "components", "seconds"},
              .rows = {}};
  Panel panel{.title = "Above the Gaussian",
              .x = {.label = "table", .ticks = {}},
              .y = {.label = "log-likelihood above the Gaussian (nats per row)"},
              .series = {}};
  for (size_t m = 1; m < kMethods.size(); ++m)
    panel.series.push_back({.name = kMethods[m],
                            .x = {},
                            .y = {},
                            .stroke = Stroke::marks,
                            .colour = static_cast<uint32_t>(m - 1)});
  size_t wins = 0;
  std::string missing, words;
  for (const Source& source : kSources) {
    const std::string path = options.data + "/" + source.path;
    if (options.data.empty() || !std::filesystem::exists(path)) {
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", source.name);
      continue;
    }
    const RealTable real = read_real_table(source.name, path, trials.seed(0));
    const auto data = make_point_source(real.columns, real.values);
    described.add({real.name, static_cast<double>(real.rows()), static_cast<double>(real.columns),
                   static_cast<double>(real.duplicates), static_cast<double>(real.dequantised)});
    std::vector<std::vector<CellValues>> cells(kMethods.size());
    for (size_t i = 0; i < seeds; ++i) {
      DensityOptions chosen = common;
      chosen.seed = trials.seed(i);
      chosen.threads = options.threads;
      const Split split = split_of(real.rows(), chosen.seed);
      for (size_t m = 0; m < kMethods.size(); ++m) {
        const uint32_t components =
            kMethods[m] == "snl" ? static_cast<uint32_t>(cells[1][i].at("components")) : 0;
        const std::string key = fmt::format("{} {} {} components {} {} {}", real.name, data->fingerprint(),
                                            kMethods[m], components, density_objective_json(chosen),
                                            density_training_json(chosen, "", split.train.size(), {}));
        cells[m].push_back(
            trials.get(key, 1, [&] { return measure(*data, split, kMethods[m], chosen, components); }));
        std::vector<Cell> row = {real.name, kMethods[m], static_cast<double>(chosen.seed)};
        for (size_t c = row.size(); c < out.data.columns.size(); ++c)
          row.emplace_back(cells[m][i].at(out.data.columns[c]));
        out.data.add(std::move(row));
      }
    }
    panel.x.ticks.push_back(real.name);
    size_t best = 0;  // of the baselines
    for (size_t m = 0; m < kMethods.size(); ++m) {
      const bool is_snl = kMethods[m] == "snl";
      const MeanError ll = mean_of(cells[m], "ll");
      const bool has_components = is_snl || kMethods[m] == "mixture";
      table.add({real.name, kMethods[m], written(ll), mean_of(cells[m], "ll_error").mean,
                 is_snl ? written(mean_of(cells[m], "log_z_reach")) : "exact",
                 is_snl ? written(mean_of(cells[m], "b_error")) : "-",
                 is_snl ? percent(mean_of(cells[m], "effective")) : "-",
                 has_components ? Cell(mean_of(cells[m], "components").mean) : Cell("-"),
                 mean_of(cells[m], "seconds").mean});
      if (!is_snl && ll.mean > mean_of(cells[best], "ll").mean) best = m;
      if (m == 0) continue;
      const MeanError above = mean_difference(cells[m], cells[0], "ll");
      panel.series[m - 1].x.push_back(static_cast<double>(panel.x.ticks.size()));
      panel.series[m - 1].y.push_back(above.mean);
      panel.series[m - 1].error.push_back(above.error);
    }
    const MeanError gain = mean_difference(cells.back(), cells[best], "ll");
    const bool is_win = gain.missing == 0 && gain.mean > 2 * gain.error;
    wins += is_win ? 1 : 0;
    words += fmt::format("{}{}: {:+.3f} +- {:.3f} over {} ({})", words.empty() ? "" : "; ", real.name,
                         gain.mean, gain.error, kMethods[best],
                         is_win                        ? "better"
                         : gain.mean < -2 * gain.error ? "worse"
                                                       : "no clear difference");
    out.facts.emplace_back("gain_" + real.name, gain.mean);
  }
  const size_t found = described.rows.size();
  out.facts.emplace_back("tables", static_cast<double>(found));
  out.facts.emplace_back("tables_where_snl_is_better", static_cast<double>(wins));
  if (found > 0) {
    out.measured = fmt::format(
        "snl against the best of the fitted densities, nats per row: {}. Better by more than two standard "
        "errors on {} of {} tables.",
        words, wins, found);
    out.figure = {.title = "Real tables", .panels = {panel}};
    out.tables = {std::move(described), std::move(table)};
  }
  if (!missing.empty())
    out.measured += fmt::format("{}NOT MEASURED: {} {} not found in '{}' (--data DIR or SELFNORM_DATA).",
                                found > 0 ? " " : "", missing, found + 1 == kSources.size() ? "was" : "were",
                                options.data);
  out.settings.emplace_back("seeds", fmt::format("{} from {}", seeds, trials.seed(0)));
  options.progress(1);
  return out;
}

}  // namespace selfnorm
