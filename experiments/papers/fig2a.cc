// Figure 2a [ARJK 5]: the likelihood gap against the root mean square of log Z about log K, as the constraint
// is relaxed; synthetic labels at several temperatures, and a model of the next word of a real text. K = 200
// so that the paper's KL of 2.6 and 5.0 nats are possible (log 200 = 5.3).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/toy/generate.h"
#include "experiments/experiment.h"
#include "experiments/papers/next_word.h"
#include "family/classifier/normalize/likelihood_gap.h"

namespace selfnorm {
namespace {

struct RmsGap {
  double rms, gap;
};

struct Line {
  std::string name;
  std::vector<RmsGap> points;
};

// As printed, theory.md 2.4; the axis of [D] is mean |log Z|.
const std::vector<Line> kPrinted = {
    {"paper's Figure 2a, KL = 2.6", {{.49, .170}, {.58, .116}, {.84, .102}, {1.40, .069}}},
    {"paper's Figure 2a, KL = 5.0", {{.44, .139}, {.58, .103}, {.73, .090}, {.99, .050}}},
    {"neural language model [D] (mean |log Z|)", {{.28, .11}, {.68, .03}, {1.35, .01}}}};

// By rising rms.
Line line_of(const std::string& name, const std::vector<ConstrainedOptimum>& optima) {
  Line line{name, {}};
  for (const ConstrainedOptimum& c : optima) line.points.push_back({c.optimum.rms, c.gap});
  std::sort(line.points.begin(), line.points.end(),
            [](const RmsGap& a, const RmsGap& b) { return a.rms < b.rms; });
  return line;
}

// Whether the gap never rises with rms, to the precision of the solves.
bool falls(const Line& line) {
  for (size_t i = 1; i < line.points.size(); ++i) {
    if (line.points[i].gap > line.points[i - 1].gap + 1e-3) return false;
  }
  return true;
}

// The gap at `rms` on the line through its points; at its ends beyond them.
double gap_at(const Line& line, double rms) {
  const auto above =
      std::find_if(line.points.begin(), line.points.end(), [&](const RmsGap& p) { return p.rms >= rms; });
  if (above == line.points.begin()) return above->gap;
  if (above == line.points.end()) return line.points.back().gap;
  const RmsGap &a = *(above - 1), &b = *above;
  return a.gap + (b.gap - a.gap) * (rms - a.rms) / (b.rms - a.rms);
}

Series series_of(const Line& line, Stroke stroke, uint32_t colour) {
  Series out{.name = line.name, .x = {}, .y = {}, .stroke = stroke, .colour = colour};
  for (const RmsGap& p : line.points) {
    out.x.push_back(p.rms);
    out.y.push_back(p.gap);
  }
  return out;
}

}  // namespace

Record run_fig2a(const ExperimentOptions& options) {
  const bool small = options.reduced();
  const GenerateOptions synthetic{.rows = small ? 300u : 1000u,
                                  .features = small ? 20u : 30u,
                                  .classes = small ? 20u : 200u,
                                  .density = 0.1,
                                  .temperature = 1,
                                  .seed = options.seed};
  const std::vector<double> temperatures = {0.5, 1, 2, 4, 8};
  const std::vector<double> deltas =
      small ? std::vector<double>{0.3, 1} : std::vector<double>{0.15, 0.3, 0.5, 0.75, 1, 1.4};
  const std::vector<double> multipliers =
      small ? std::vector<double>{0.01, 1} : std::vector<double>{0.003, 0.01, 0.03, 0.1, 0.3, 1, 3};
  const NextWordOptions words{
      .vocabulary = small ? 50u : 500u, .context = 2, .examples = small ? 2000u : 8000u};
  constexpr double kWordL2 = 1e-5, kWordGain = 3e-5;
  const Dataset text = next_word_data(language_text(options.text), words);  // first: it may be unusable

  Record out;
  out.name = "fig2a";
  out.title = "the trade between normalisation and likelihood";
  out.looks = {
      "The paper says that a looser constraint costs less likelihood: every line should fall from left to "
      "right, and lower left is better; log Z is exact."};
  out.paper =
      "\"As the normalization constraint delta is relaxed, the likelihood gap decreases\" (Figure 2a, "
      "synthetic lines by their KL from uniform and one of a neural language model).";
  out.settings = {
      {"synthetic", fmt::format("n = {}, d = {}, K = {}, density {}, seed {}", synthetic.rows,
                                synthetic.features, synthetic.classes, synthetic.density, synthetic.seed)},
      {"tau", "0.5, 1, 2, 4, 8"},
      {"text", options.text.empty() ? "/usr/share/common-licenses" : options.text},
      {"words", fmt::format("first {} positions, K = {}, two words of context one-hot, l2 = {}",
                            words.examples, words.vocabulary, kWordL2)},
      {"solves end", fmt::format("when ten iterations gain less than 1e-6 nats, for words {}, so that gaps "
                                 "of words are good to about 0.001",
                                 kWordGain)}};
  out.data.columns = {"line", "kl_uniform", "log_k", "delta", "rms_log_z", "gap", "multiplier"};
  Panel panel{.title = "lower left is better: close to normalised at little loss",
              .x = {.label = "root mean square of log Z about log K (nats)", .low = 0},
              .y = {.label = "likelihood gap (nats per example)", .low = 0},
              .series = {}};
  Table table{.caption = "Gap in nats per example; in brackets the rms it was measured at.",
              .columns = {"line", "KL from uniform", "lowest rms", "gap there", "gap at rms nearest 0.5",
                          "gap at rms nearest 1", "falls with rms"},
              .rows = {}};
  uint64_t falling = 0, lines = 0;
  const auto add = [&](const Line& line, const LikelihoodGap& found,
                       const std::vector<ConstrainedOptimum>& optima, double log_k) {
    for (const ConstrainedOptimum& c : optima) {
      out.data.add(
          {line.name, found.maximum.kl_uniform, log_k, c.delta, c.optimum.rms, c.gap, c.optimum.multiplier});
    }
    const auto nearest = [&](double rms) {
      const auto place = std::min_element(
          line.points.begin(), line.points.end(),
          [&](const RmsGap& a, const RmsGap& b) { return std::abs(a.rms - rms) < std::abs(b.rms - rms); });
      return fmt::format("{:.4f} ({:.2f})", place->gap, place->rms);
    };
    table.add({line.name, found.maximum.kl_uniform, line.points.front().rms, line.points.front().gap,
               nearest(0.5), nearest(1), falls(line) ? "yes" : "no"});
    falling += falls(line) ? 1 : 0;
    panel.series.push_back(series_of(line, Stroke::line_points, static_cast<uint32_t>(lines)));
    ++lines;
  };
  for (size_t t = 0; t < temperatures.size(); ++t) {
    GenerateOptions at = synthetic;
    at.temperature = temperatures[t];
    const LikelihoodGap found =
        likelihood_gap(generate(at).data, {.deltas = deltas, .gain = 1e-6, .threads = options.threads});
    const Line line =
        line_of(fmt::format("synthetic, tau = {}, KL = {:.2f}", temperatures[t], found.maximum.kl_uniform),
                found.constrained);
    add(line, found, found.constrained, std::log(synthetic.classes));
    options.progress(static_cast<double>(t + 1) / static_cast<double>(temperatures.size() + 3));
  }
  const LikelihoodGap of_words = likelihood_gap(
      text, {.multipliers = multipliers, .l2 = kWordL2, .gain = kWordGain, .threads = options.threads});
  const Line words_line = line_of(
      fmt::format("next word of a text, KL = {:.2f}", of_words.maximum.kl_uniform), of_words.penalised);
  add(words_line, of_words, of_words.penalised, std::log(words.vocabulary));
  for (uint32_t i = 0; i < kPrinted.size(); ++i) {
    panel.series.push_back(series_of(kPrinted[i], Stroke::dashed_points, 6 + i));
  }
  out.figure = {.title = "Normalisation against likelihood", .panels = {std::move(panel)}};
  out.tables.push_back(std::move(table));
  Table printed{.caption = "As printed (rms, gap).", .columns = {"line", "points"}, .rows = {}};
  for (const Line& line : kPrinted) {
    std::string points;
    for (const RmsGap& p : line.points) points += fmt::format("({}, {}) ", p.rms, p.gap);
    points.pop_back();
    printed.add({line.name, points});
  }
  out.tables.push_back(std::move(printed));
  out.facts = {{"lines", static_cast<double>(lines)},
               {"lines_that_fall", static_cast<double>(falling)},
               {"gap_of_words_at_0.28", gap_at(words_line, 0.28)}};
  std::string beside, separator;
  for (const RmsGap& p : kPrinted.back().points) {
    beside +=
        fmt::format("{}{:.3f} where [D] pays {} (at {})", separator, gap_at(words_line, p.rms), p.gap, p.rms);
    separator = ", ";
  }
  out.measured = fmt::format(
      "On {} of {} lines the gap falls as rms log Z grows. The model of words, the nearest to [D]'s, pays {} "
      "nats per word.",
      falling, lines, beside);
  out.differences =
      "The paper's n, d and K are not stated, so shapes are compared, not values (other sizes that were "
      "tried move the synthetic lines up and down); K = 200 makes its KL values possible. The synthetic "
      "lines sweep the constraint delta; the line of words sweeps the multiplier of the same constraint, "
      "whose optimum for alpha is the constrained one for its own rms. An optimum for one delta also counts "
      "for a larger one, so the synthetic lines cannot rise; that of words could. [D] is a neural network "
      "evaluated on held-out text with mean |log Z| on its axis.";
  options.progress(1);
  return out;
}

}  // namespace selfnorm
