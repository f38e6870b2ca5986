// Raw against exact scoring of random sentences, by their length and the number of labels.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "experiments/experiment.h"
#include "experiments/sequences/scoring.h"

namespace selfnorm {
namespace {

struct Grid {
  std::vector<uint64_t> lengths;
  std::vector<uint32_t> labels, drawn;  // drawn: against the length
  uint64_t tokens = 4000;
  size_t repeats = 25;
};

Grid grid_of(const ExperimentOptions& options) {
  if (options.reduced()) return {{5, 20}, {2, 17}, {17}, 40, 3};
  return {{5, 10, 20, 50, 100, 200, 1000}, {2, 5, 17, 49, 100, 300}, {2, 17, 300}};
}

std::string processor_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name") && line.find(": ") != std::string::npos)
      return line.substr(line.find(": ") + 2);
  return "not known";
}

void describe_timing(Record& out) {
  out.name = "sequences-time";
  out.title = "time of the log-probability of a labelling";
  out.looks = {
      "Exact lines (full) lie above raw ones (dashed), the more so the more labels there are; on the right "
      "the ratio grows with the labels and hardly changes with the length."};
  out.paper =
      "Raw against exact scoring time by sentence length and number of labels: raw is a sum of scores, O(T), "
      "exact needs the forward recursion, O(T L^2).";
  out.differences =
      "Random sentences, labels and weights; 20,000 attributes, of which a token has 20, as many as the "
      "default templates make, prepared beforehand: only scoring is timed. One thread; exponentials of the "
      "transitions, the same for all sentences, are made once and not timed. Medians of repeats in which raw "
      "and exact take turns, over the same sentences, so that memory is warm. Raw reads one weight of an "
      "attribute, whatever the number of labels, but from a larger table. Times are of the run that wrote "
      "this, on the machine below, with whatever else it had to do; ratios are steadier.";
  out.data.columns = {"length", "labels", "raw", "scores", "exact", "ratio"};
}

struct TimeTable {
  Grid grid;
  std::vector<std::vector<ScoringTimes>> times;  // length by length, labels by labels
};

double ratio(const ScoringTimes& times) { return times.exact / times.raw; }

// A row a length, a column a number of labels.
template <class Value>
Table table_of(const TimeTable& measured, std::string caption, const Value& value) {
  Table out{.caption = std::move(caption), .columns = {"tokens"}};
  for (const uint32_t labels : measured.grid.labels) out.columns.push_back(fmt::format("L = {}", labels));
  for (size_t i = 0; i < measured.grid.lengths.size(); ++i) {
    std::vector<Cell> row = {static_cast<double>(measured.grid.lengths[i])};
    for (const ScoringTimes& times : measured.times[i]) row.emplace_back(fmt::format("{:.3g}", value(times)));
    out.add(std::move(row));
  }
  return out;
}

Panel time_panel(const TimeTable& measured) {
  Panel out{.title = "Of a sentence",
            .x = {.label = "tokens of the sentence", .logarithmic = true},
            .y = {.label = "microseconds", .logarithmic = true},
            .series = {}};
  for (size_t k = 0; k < measured.grid.labels.size(); ++k) {
    const uint32_t labels = measured.grid.labels[k];
    if (std::ranges::find(measured.grid.drawn, labels) == measured.grid.drawn.end()) continue;
    Series exact{.name = fmt::format("exact, L = {}", labels), .x = {}, .y = {}},
        raw{.name = fmt::format("raw, L = {}", labels), .x = {}, .y = {}, .stroke = Stroke::dashed_points};
    exact.colour = raw.colour = static_cast<uint32_t>(out.series.size() / 2);
    for (size_t i = 0; i < measured.grid.lengths.size(); ++i) {
      for (Series* series : {&exact, &raw})
        series->x.push_back(static_cast<double>(measured.grid.lengths[i]));
      exact.y.push_back(1e6 * measured.times[i][k].exact);
      raw.y.push_back(1e6 * measured.times[i][k].raw);
    }
    out.series.push_back(std::move(exact));
    out.series.push_back(std::move(raw));
  }
  return out;
}

Panel ratio_panel(const TimeTable& measured) {
  Panel out{.title = "Exact over raw",
            .x = {.label = "labels", .logarithmic = true},
            .y = {.label = "time exact / time raw", .logarithmic = true},
            .series = {}};
  for (size_t i = 0; i < measured.grid.lengths.size(); i += 2) {
    Series series{.name = fmt::format("T = {}", measured.grid.lengths[i]),
                  .x = {},
                  .y = {},
                  .colour = static_cast<uint32_t>(i / 2)};
    for (size_t k = 0; k < measured.grid.labels.size(); ++k) {
      series.x.push_back(measured.grid.labels[k]);
      series.y.push_back(ratio(measured.times[i][k]));
    }
    out.series.push_back(std::move(series));
  }
  return out;
}

void add_facts(const TimeTable& measured, Record& out) {
  const std::vector<uint32_t>& labels = measured.grid.labels;
  for (size_t k = 0; k < labels.size(); ++k) {
    double low = INFINITY, high = 0;
    for (const auto& row : measured.times) {
      low = std::min(low, ratio(row[k]));
      high = std::max(high, ratio(row[k]));
    }
    out.facts.emplace_back(fmt::format("least_ratio_{}_labels", labels[k]), low);
    out.facts.emplace_back(fmt::format("largest_ratio_{}_labels", labels[k]), high);
    out.measured += fmt::format("{}{:.3g} to {:.3g} with {} labels", k == 0 ? "Exact over raw time: " : ", ",
                                low, high, labels[k]);
  }
  out.measured += ", over the lengths.";
}

}  // namespace

Record run_sequences_time(const ExperimentOptions& options) {
  Record out;
  describe_timing(out);
  TimeTable measured{.grid = grid_of(options), .times = {}};
  const Grid& grid = measured.grid;
  const double all = static_cast<double>(grid.lengths.size() * grid.labels.size());
  for (const uint64_t length : grid.lengths) {
    measured.times.emplace_back();
    for (const uint32_t labels : grid.labels) {
      const RandomChain chain =
          random_chain({.labels = labels, .length = length, .tokens = grid.tokens, .seed = options.seed});
      const ScoringTimes times = scoring_times(chain, grid.repeats);
      measured.times.back().push_back(times);
      out.data.add({static_cast<double>(length), static_cast<double>(labels), times.raw, times.scores,
                    times.exact, ratio(times)});
      options.progress(static_cast<double>(out.data.rows.size()) / all);
    }
  }
  add_facts(measured, out);
  out.tables = {
      table_of(measured, "Exact over raw time.", ratio),
      table_of(measured, "Raw: microseconds a sentence.", [](const auto& t) { return 1e6 * t.raw; }),
      table_of(measured, "Exact: microseconds a sentence.", [](const auto& t) { return 1e6 * t.exact; }),
      table_of(measured, "Share of the exact time that goes into the emissions of all labels.",
               [](const auto& t) { return t.scores / t.exact; })};
  out.figure = {.title = "Raw and exact", .panels = {time_panel(measured), ratio_panel(measured)}};
  out.settings = {{"processor", processor_name()},
                  {"threads", "1"},
                  {"repeats", std::to_string(grid.repeats)},
                  {"tokens a repeat", fmt::format("{} at least", grid.tokens)},
                  {"seed", std::to_string(options.seed)}};
  return out;
}

}  // namespace selfnorm
