#include "experiments/regression/uci_page.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>

#include "experiments/regression/settings.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr const char* kUntimed = "protein";
constexpr const char* kRule =
    "Won or lost: beyond two standard errors over splits, else tied; lost, too, where a split has no number. "
    "The splits share rows, yet these standard errors take them for independent: they are likely too small.";

const std::vector<CellValues>& cells_of(const UciTable& table, const std::string& model) {
  const std::vector<std::string> models = table_models();
  for (size_t m = 0; m < models.size(); ++m)
    if (models[m] == model) return table.cells[m];
  throw Bug("no model " + model);
}

// A mean minus a number without an error.
MeanError minus(MeanError mean, double printed) {
  mean.mean -= printed;
  return mean;
}

double processor_seconds(const CellValues& cell) { return cell.at("all_seconds"); }
// Exact when every core is busy to the end.
double clock_minutes(const CellValues& cell) { return cell.at("wall") / cell.at("at_once") / 60; }

double sum_of(const UciTable& table, double (*value)(const CellValues&)) {
  double out = 0;
  for (const auto& cells : table.cells)
    for (const CellValues& cell : cells) out += value(cell);
  return out;
}

}  // namespace

const std::vector<UciSource>& uci_sources() {
  static const std::vector<UciSource> all = {{"boston", "bostonHousing", 2.41, 2.43},
                                             {"concrete", "concrete", 3.06, 3.04},
                                             {"energy", "energy", 1.38, 0.60},
                                             {"kin8nm", "kin8nm", -1.20, -0.49},
                                             {"power", "power-plant", 2.79, 2.79},
                                             {"yacht", "yacht", 1.18, 0.20},
                                             {kUntimed, "protein-tertiary-structure", 2.83, 2.81}};
  return all;
}

bool UciTable::is_in_time() const { return source.name != std::string(kUntimed); }

const char* word(Outcome outcome) {
  return outcome == Outcome::won ? "won" : outcome == Outcome::lost ? "lost" : "tied";
}

Outcome outcome_of(const MeanError& difference) {
  if (difference.missing > 0 || difference.count == 0) return Outcome::lost;
  if (difference.mean < -2 * difference.error) return Outcome::won;
  return difference.mean > 2 * difference.error ? Outcome::lost : Outcome::tied;
}

Table uci_table(const std::vector<UciTable>& tables) {
  Table out{.caption =
                "Test rows of the standard splits, mean +- standard error over splits. NLL in nats, exact: A "
                "by quadrature. In 50%: share of the targets inside central 50% intervals. rms(b - A): of "
                "the error that b(x) makes in log p. First member tilted: "
                "share of the splits in which |A(x)| of the first of the members is above 0.001 on some test "
                "row; in the others that member is its mixture alone, and of the other members it says "
                "nothing. Seconds: processor time of a training.",
            .columns = {"table", "model", "NLL", "CRPS", "RMSE", "in 50%", "rms(b - A)",
                        "first member tilted", "seconds", "splits"},
            .rows = {}};
  const std::vector<std::string> models = table_models();
  for (const UciTable& table : tables)
    for (size_t m = 0; m < models.size(); ++m) {
      const auto& cells = table.cells[m];
      out.add({table.source.name, models[m], written(mean_of(cells, "nll")), written(mean_of(cells, "crps")),
               written(mean_of(cells, "rmse")), percent(mean_of(cells, "in50")),
               models[m] == "snl" ? written(mean_of(cells, "b_rms")) : "0, exact",
               models[m] == "snl" ? percent(mean_of(cells, "tilted")) : "-", mean_of(cells, "seconds").mean,
               static_cast<double>(cells.size())});
    }
  return out;
}

std::vector<Table> uci_outcomes(const std::vector<UciTable>& tables, Record& record) {
  Table printed{
      .caption = fmt::format(
          "Test NLL of snl against what others printed, which enters without an error of its own. {}", kRule),
      .columns = {"table", "snl", "deep ensembles", "", "NGBoost", ""},
      .rows = {}};
  Table own{.caption = fmt::format(
                "snl minus models of the same tool, split by split; negative is better. {}", kRule),
            .columns = {"table"},
            .rows = {}};
  const std::vector<std::pair<std::string, std::string>> others = {
      {"mdn", "nll"}, {"gaussian", "nll"}, {"linear", "nll"}, {"mdn", "crps"}, {"gaussian", "crps"}};
  for (const auto& [model, number] : others) {
    own.columns.push_back(fmt::format("{} - that of {}", number == "nll" ? "NLL" : "CRPS", model));
    own.columns.emplace_back("");
  }
  std::map<std::string, std::array<double, 3>> counts;
  const auto judged = [&](const std::string& name, const MeanError& difference) {
    const Outcome outcome = outcome_of(difference);
    counts[name][static_cast<size_t>(outcome)] += 1;
    return word(outcome);
  };
  for (const UciTable& table : tables) {
    const std::vector<CellValues>& snl = cells_of(table, "snl");
    const MeanError nll = mean_of(snl, "nll");
    const UciSource& source = table.source;
    printed.add({source.name, written(nll), source.deep_ensembles,
                 judged("deep_ensembles", minus(nll, source.deep_ensembles)), source.ngboost,
                 judged("ngboost", minus(nll, source.ngboost))});
    std::vector<Cell> row = {source.name};
    for (const auto& [model, number] : others) {
      const MeanError difference = mean_difference(snl, cells_of(table, model), number);
      row.emplace_back(written(difference));
      row.emplace_back(judged(fmt::format("{}_{}", model, number), difference));
    }
    own.add(std::move(row));
  }
  for (const auto& [name, count] : counts)
    for (const Outcome outcome : {Outcome::won, Outcome::tied, Outcome::lost})
      record.facts.emplace_back(fmt::format("{}_{}", name, word(outcome)),
                                count[static_cast<size_t>(outcome)]);
  return {std::move(printed), std::move(own)};
}

Table uci_times(const std::vector<UciTable>& tables, Record& record) {
  Table out{.caption =
                "The tables, and the time of all their models and splits, evaluation included, for "
                "information. Minutes by the clock are estimated from the clock of each training: its time "
                "over the number of trainings at once, summed. Where rows or targets repeat, read "
                "likelihoods with care: a density may grow without limit at values it has seen.",
            .columns = {"table", "rows", "features", "repeated rows", "distinct targets", "splits",
                        "processor seconds", "minutes by the clock, estimated"},
            .rows = {}};
  double all = 0, in_time = 0, clock = 0;
  for (const UciTable& table : tables) {
    const double own = sum_of(table, processor_seconds), own_clock = sum_of(table, clock_minutes);
    out.add({table.source.name, static_cast<double>(table.rows), static_cast<double>(table.features),
             static_cast<double>(table.repeated), static_cast<double>(table.distinct_targets),
             static_cast<double>(table.cells[0].size()), own, own_clock});
    all += own;
    if (!table.is_in_time()) continue;
    in_time += own;
    clock += own_clock;
  }
  out.add({fmt::format("all but {}", kUntimed), "", "", "", "", "", in_time, clock});
  out.add({"all", "", "", "", "", "", all, ""});
  record.facts.emplace_back("processor_seconds", all);
  record.facts.emplace_back("processor_seconds_in_time", in_time);
  record.facts.emplace_back("estimated_clock_minutes", clock);
  return out;
}

Panel uci_panel(const std::vector<UciTable>& tables) {
  Panel out{.title = "Below the Gaussian network",
            .x = {.label = "table", .ticks = {}},
            .y = {.label = "NLL of the Gaussian network - NLL (nats)"},
            .series = {}};
  const std::vector<std::string> names = {"snl", "mdn", "deep ensembles, printed", "NGBoost, printed"};
  for (size_t i = 0; i < names.size(); ++i)
    out.series.push_back(
        {.name = names[i], .x = {}, .y = {}, .stroke = Stroke::marks, .colour = static_cast<uint32_t>(i)});
  for (const UciTable& table : tables) {
    const std::vector<CellValues>& gaussian = cells_of(table, "gaussian");
    out.x.ticks.emplace_back(table.source.name);
    const auto add = [&](size_t i, const MeanError& above) {
      out.series[i].x.push_back(static_cast<double>(out.x.ticks.size()));
      out.series[i].y.push_back(above.mean);
      out.series[i].error.push_back(above.error);
    };
    for (size_t i = 0; i < 2; ++i) add(i, mean_difference(gaussian, cells_of(table, names[i]), "nll"));
    add(2, minus(mean_of(gaussian, "nll"), table.source.deep_ensembles));
    add(3, minus(mean_of(gaussian, "nll"), table.source.ngboost));
  }
  return out;
}

}  // namespace selfnorm
