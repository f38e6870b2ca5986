#include "experiments/sequences/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// First lengths of the levels: 1, 2, 4, ...: those that occur.
std::vector<uint64_t> levels_of(const CellValues& cell) {
  std::vector<uint64_t> out;
  for (uint64_t first = 1; first != 0; first *= 2)
    if (cell.numbers.contains(fmt::format("length_{}_rms", first))) out.push_back(first);
  return out;
}

std::string level_name(uint64_t first) {
  return first == 1 ? "1" : fmt::format("{}..{}", first, 2 * first - 1);
}

double at_level(const CellValues& cell, uint64_t first, const char* number) {
  return cell.at(fmt::format("length_{}_{}", first, number));
}

Table level_table(const std::vector<MeasuredCrf>& crfs, const char* number, std::string caption) {
  Table out{.caption = std::move(caption), .columns = {"model"}};
  const CellValues& first = crfs.front().cell;
  std::vector<Cell> counts = {"test sentences"};
  for (const uint64_t level : levels_of(first)) {
    out.columns.push_back(level_name(level));
    counts.emplace_back(at_level(first, level, "sentences"));
  }
  out.add(std::move(counts));
  for (const MeasuredCrf& crf : crfs) {
    std::vector<Cell> row = {crf.trial.name};
    for (const uint64_t level : levels_of(first)) row.emplace_back(at_level(crf.cell, level, number));
    out.add(std::move(row));
  }
  return out;
}

Panel level_panel(const std::vector<MeasuredCrf>& crfs, const char* number, std::string title,
                  std::string label) {
  Panel out{.title = std::move(title),
            .x = {.label = "tokens of the sentence, first of a level", .logarithmic = true},
            .y = {.label = std::move(label), .logarithmic = true},
            .series = {}};
  uint32_t colour = 0;
  for (const MeasuredCrf& crf : crfs) {
    const bool is_changed = crf.trial.change != CrfChange::none;
    if (!crf.trial.has_length_line) continue;
    Series series{.name = crf.trial.name,
                  .x = {},
                  .y = {},
                  .stroke = is_changed ? Stroke::dashed_points : Stroke::line_points,
                  .colour = colour++};
    for (const uint64_t level : levels_of(crf.cell)) {
      series.x.push_back(static_cast<double>(level));
      series.y.push_back(at_level(crf.cell, level, number));
    }
    out.series.push_back(std::move(series));
  }
  return out;
}

}  // namespace

void compare_with_first(const Sequences& test, std::vector<MeasuredCrf>& crfs) {
  const std::vector<double> first = crfs.front().cell.grid;
  const auto tokens = static_cast<double>(test.positions());
  for (MeasuredCrf& crf : crfs) {
    const std::vector<double>& nll = crf.cell.grid;
    if (nll.size() != test.sentences() || first.size() != test.sentences())
      throw Error(fmt::format("the cell of '{}' has {} sentences and the test data {}; use --fresh",
                              crf.trial.name, nll.size(), test.sentences()));
    double sum = 0, square = 0;
    for (uint64_t i = 0; i < test.sentences(); ++i) sum += nll[i] - first[i];
    crf.lost = sum / tokens;
    for (uint64_t i = 0; i < test.sentences(); ++i) {
      const double residual = nll[i] - first[i] - crf.lost * static_cast<double>(test.length(i));
      square += residual * residual;
    }
    crf.lost_error = std::sqrt(square) / tokens;
  }
}

Table crf_numbers(const std::vector<MeasuredCrf>& crfs) {
  std::vector<std::string> numbers = {"accuracy", "sentence_accuracy", "nll",       "nll_raw",  "mean",
                                      "rms",      "rms_per_token",     "train_rms", "valid_rms"};
  for (const uint64_t level : levels_of(crfs.front().cell))
    for (const char* name : {"sentences", "rms", "rms_per_token"})
      numbers.push_back(fmt::format("length_{}_{}", level, name));
  for (const char* name : {"steps", "diverged", "seconds"}) numbers.emplace_back(name);
  Table out{.caption = {}, .columns = {"model", "lost", "lost_error"}};
  out.columns.insert(out.columns.end(), numbers.begin(), numbers.end());
  for (const MeasuredCrf& crf : crfs) {
    std::vector<Cell> row = {crf.trial.name, crf.lost, crf.lost_error};
    for (const std::string& name : numbers) row.emplace_back(crf.cell.at(name));
    out.add(std::move(row));
  }
  return out;
}

std::vector<Table> crf_tables(const std::vector<MeasuredCrf>& crfs) {
  Table models{
      .caption =
          "Test sentences. NLL in nats per token: exact, of s - A, and raw, of s (of s - b(x), where there "
          "is b(x)). Lost: exact NLL less that of the model exact, what being self-normalised costs "
          "(negative: it gained, for a penalty regularises, too), +- its standard error over sentences, "
          "paired. Raw - exact: minus the mean of A, the bias of raw log-likelihoods; it may be small by "
          "cancelling where single sentences are far off. rms A: of a sentence, and of A / T. Seconds: "
          "processor time of training, all threads together.",
      .columns = {"model", "accuracy", "sentences right", "NLL", "lost", "raw NLL", "raw - exact", "rms A",
                  "rms A per token", "steps", "seconds"},
      .rows = {}};
  Table parts{.caption =
                  "rms A of a sentence on the sentences that were trained on, those that stopped training "
                  "and set the biases (dev), and the test sentences. A small rms on seen sentences need "
                  "not carry over to new ones.",
              .columns = {"model", "train", "dev", "test"},
              .rows = {}};
  for (const MeasuredCrf& crf : crfs) {
    const CellValues& cell = crf.cell;
    const double nll = cell.at("nll"), raw = cell.at("nll_raw");
    models.add({crf.trial.name + (cell.at("diverged") > 0 ? ", diverged" : ""),
                fmt::format("{:.4f}", cell.at("accuracy")),
                fmt::format("{:.4f}", cell.at("sentence_accuracy")), fmt::format("{:.4f}", nll),
                fmt::format("{:.4f} +- {:.4f}", crf.lost, crf.lost_error), fmt::format("{:.4f}", raw),
                fmt::format("{:.4f}", raw - nll), cell.at("rms"), cell.at("rms_per_token"), cell.at("steps"),
                std::round(cell.at("seconds"))});
    parts.add({crf.trial.name, cell.at("train_rms"), cell.at("valid_rms"), cell.at("rms")});
  }
  return {std::move(models), std::move(parts),
          level_table(crfs, "rms", "rms A of a sentence by its number of tokens."),
          level_table(crfs, "rms_per_token", "rms of A / T by the number of tokens T.")};
}

Panel trade_off_panel(const std::vector<MeasuredCrf>& crfs) {
  Panel out{.title = "What being normalised costs",
            .x = {.label = "rms A per token (nats)", .logarithmic = true},
            .y = {.label = "exact NLL lost per token (nats)"},
            .series = {}};
  for (const MeasuredCrf& crf : crfs) {
    const std::string& family = crf.trial.family;
    auto found = std::ranges::find(out.series, family, &Series::name);
    if (found == out.series.end()) {
      out.series.push_back({.name = family,
                            .x = {},
                            .y = {},
                            .stroke = family == "penalty" ? Stroke::line_points : Stroke::marks,
                            .colour = static_cast<uint32_t>(out.series.size())});
      found = out.series.end() - 1;
    }
    found->x.push_back(crf.cell.at("rms_per_token"));
    found->y.push_back(crf.lost);
    found->error.push_back(crf.lost_error);
    found->labels.push_back(crf.trial.name);
  }
  return out;
}

std::vector<Panel> length_panels(const std::vector<MeasuredCrf>& crfs) {
  return {level_panel(crfs, "rms", "Of a sentence", "rms A (nats)"),
          level_panel(crfs, "rms_per_token", "Per token", "rms A / T (nats)")};
}

}  // namespace selfnorm
