// The sweeps of [AK] (experiments.md): the `sampled` objective s - (alpha/gamma) [x in H] A^2 with H a random
// fraction gamma of each minibatch. R = mean |log Z|. Its optimum has A near 1/(2 alpha), a constant that is
// stored and subtracted, so mean |log Z - c| is what a user of raw scores meets. Quality is the exact
// likelihood of held-out text; cost is the number of log-normalizers computed in training.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "data/example_source.h"
#include "experiments/experiment.h"
#include "experiments/papers/next_word.h"
#include "family/classifier/trainer.h"
#include "math/parallel.h"
#include "model/parameters.h"
#include "normalizer/problem.h"

namespace selfnorm {
namespace {

struct Setting {
  double alpha, gamma;
  double printed;  // R in [AK]
};

// As printed; alpha = 1, gamma = 0.1 belongs to both sweeps.
const std::vector<Setting> kGammaSweep = {
    {1, 0, 21.6}, {1, 0.001, 1.7}, {1, 0.01, 1.5}, {1, 0.1, 1.5}, {1, 1, 1.5}};
const std::vector<Setting> kAlphaSweep = {{0.01, 0.1, 20.1}, {0.1, 0.1, 9.7}, {1, 0.1, 1.5}, {10, 0.1, 0.5}};

// The rate of the sweeps was chosen after looking at several; the others are shown beside it.
const std::vector<double> kRates = {0.1, 0.2, 0.3, 0.5, 1};

struct AkOutcome {
  double mean_absolute = 0;  // |log Z|
  double early = 0;          // the same after a quarter of the epochs: a run that diverges goes on growing
  double mean_excess = 0;    // |log Z - c|
  double nll = 0;
  double normalizers = 0;
  double seconds = 0;
};

TrainOptions train_options(const Setting& setting, const ExperimentOptions& options) {
  TrainOptions out;
  out.objective.name = "sampled";
  out.objective.alpha = setting.alpha;
  out.objective.gamma = setting.gamma;
  out.optimiser = "adagrad";
  out.batch = 1000;  // so that gamma = 0.001 is one example of each
  out.epochs = 40;
  out.learning_rate = 0.3;  // one for all: its default depends on gamma
  out.calibrate = false;
  out.seed = options.seed;
  out.threads = options.threads;
  return out;
}

// |H| of a batch is gamma times its size, rounded, and at least 1 (family/classifier/minibatches.cc).
double normalizers_computed(const TrainOptions& options, uint64_t examples) {
  double count = 0;
  const double gamma = options.objective.gamma;
  for (uint64_t first = 0; first < examples && gamma > 0; first += options.batch) {
    const double size = static_cast<double>(std::min(options.batch, examples - first));
    count += std::max(1.0, std::round(gamma * size));
  }
  return count * static_cast<double>(options.epochs);
}

AkOutcome measure(const Dataset& train, const Dataset& test, const TrainOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  TrainObserver observer;
  const TrainResult result = train_classifier(train, std::nullopt, options, {}, observer);
  AkOutcome out;
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  out.normalizers = normalizers_computed(options, train.examples());
  const ThreadLimit limit(options.threads);
  const std::vector<float> theta = parameters_of<float>(result.model);
  const auto pass = make_exact_pass<float>(test, result.model.features, result.model.classes, {});
  std::vector<OutputSummary> rows(test.examples());
  pass->summarise(theta, [&](uint64_t i, const OutputSummary& row) { rows[i] = row; });
  const double n = static_cast<double>(rows.size());
  for (const OutputSummary& row : rows) {
    out.mean_absolute += std::abs(row.log_z) / n;
    out.mean_excess += std::abs(row.log_z - result.model.log_normalizer) / n;
    out.nll -= row.log_prob / n;
  }
  return out;
}

}  // namespace

Record run_table_ak(const ExperimentOptions& options) {
  const NextWordOptions words{.vocabulary = options.reduced() ? 60u : 500u,
                              .context = 2,
                              .examples = options.reduced() ? 8000u : UINT64_MAX};
  const Dataset data = next_word_data(language_text(options.text), words);
  const auto [trained, held_out] = random_split(data.examples(), 0.1, options.seed, kHoldOutStream);
  const Dataset train = subset(data, trained), test = subset(data, held_out);
  const double uniform = std::log(static_cast<double>(words.vocabulary));
  const TrainOptions shown = train_options(kGammaSweep[0], options);
  Record out;
  out.name = "table-ak";
  out.title = "normalising a sample of the examples";
  out.looks = {
      "The paper says that normalising a small sample is enough but none is not: look for the jump at the "
      "left end, gamma = 0; everywhere lower is better, and log Z is exact."};
  out.paper =
      "[AK]: with alpha = 1, R = mean |log Z| is 21.6 for gamma = 0 and 1.7, 1.5, 1.5, 1.5 for gamma = .001, "
      ".01, .1, 1, with BLEU 1.5 and 19.1, 19.2, 20.0, 20.0; with gamma = .1, R is 20.1, 9.7, 1.5, .5 for "
      "alpha = .01, .1, 1, 10, with BLEU 1.5, 2.6, 20.0, 16.9. Normalising a tenth is about ten times "
      "faster.";
  out.differences =
      "[AK] trains a neural translation model on 10 million words and reports BLEU; here a log-linear model "
      "of the next word on a small text, and the exact likelihood of held-out text. The objective, its "
      "sampling per minibatch and AdaGrad are the same. The rate and the epochs were chosen, after looking "
      "at several, so that the behaviour of [AK] shows; the second table has other rates. Since A settles "
      "near 1/(2 alpha), the stored constant c is subtracted as well.";
  out.settings = {{"text", options.text.empty() ? "/usr/share/common-licenses" : options.text},
                  {"training examples", std::to_string(train.examples())},
                  {"held out", std::to_string(test.examples())},
                  {"K", std::to_string(words.vocabulary)},
                  {"context", "2 words, one-hot"},
                  {"batch", std::to_string(shown.batch)},
                  {"epochs", std::to_string(shown.epochs)},
                  {"AdaGrad rate", fmt::format("{}, falling to 0", shown.learning_rate)},
                  {"l2", fmt::format("{}", shown.l2)},
                  {"seed", std::to_string(options.seed)}};
  out.data.columns = {
      "alpha",    "gamma",       "mean_abs_log_z", "mean_abs_log_z_quarter", "mean_abs_log_z_minus_c",
      "test_nll", "normalizers", "seconds",        "printed_mean_abs_log_z"};
  Table table{.caption =
                  "Sweep of gamma at alpha = 1, then of alpha at gamma = 0.1. Seconds are of this machine "
                  "and for information; log-normalizers are exact counts.",
              .columns = {"alpha", "gamma", "R = mean |log Z|", "R in [AK]",
                          "R after a quarter of the epochs", "mean |log Z - c|", "held-out NLL",
                          "log-normalizers computed", "of those for gamma = 1", "seconds"},
              .rows = {}};
  Series by_gamma{.name = "held-out NLL, sweep of gamma", .x = {}, .y = {}, .colour = 0};
  Series r_gamma{.name = "mean |log Z|, sweep of gamma", .x = {}, .y = {}, .colour = 0};
  Series ak_gamma{.name = "mean |log Z| printed in [AK], sweep of gamma",
                  .x = {},
                  .y = {},
                  .stroke = Stroke::dashed_points,
                  .colour = 0};
  Series r_alpha{.name = "mean |log Z|, sweep of alpha at gamma = 0.1", .x = {}, .y = {}, .colour = 1};
  Series ak_alpha{.name = "mean |log Z| printed in [AK], sweep of alpha",
                  .x = {},
                  .y = {},
                  .stroke = Stroke::dashed_points,
                  .colour = 1};
  std::vector<Setting> all = kGammaSweep;
  for (const Setting& s : kAlphaSweep) {
    if (s.alpha != 1) all.push_back(s);
  }
  std::vector<AkOutcome> outcomes;
  for (size_t i = 0; i < all.size(); ++i) {
    TrainOptions shorter = train_options(all[i], options);
    shorter.epochs /= 4;
    outcomes.push_back(measure(train, test, train_options(all[i], options)));
    outcomes.back().early = measure(train, test, shorter).mean_absolute;
    options.progress(0.8 * static_cast<double>(i + 1) / static_cast<double>(all.size()));
  }
  const auto outcome = [&](double alpha, double gamma) -> const AkOutcome& {
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const Setting& s) { return s.alpha == alpha && s.gamma == gamma; });
    return outcomes[static_cast<size_t>(found - all.begin())];
  };
  const double whole = outcome(1, 1).normalizers;
  for (size_t i = 0; i < all.size(); ++i) {
    const Setting& s = all[i];
    const AkOutcome& o = outcomes[i];
    out.data.add({s.alpha, s.gamma, o.mean_absolute, o.early, o.mean_excess, o.nll, o.normalizers, o.seconds,
                  s.printed});
    table.add({s.alpha, s.gamma, o.mean_absolute, s.printed, o.early, o.mean_excess, o.nll, o.normalizers,
               o.normalizers / whole, o.seconds});
  }
  // gamma = 0 has no place on a logarithmic axis: it is drawn at the left end.
  constexpr double kZero = 1e-4;
  for (const Setting& s : kGammaSweep) {
    const AkOutcome& o = outcome(s.alpha, s.gamma);
    const double x = s.gamma > 0 ? s.gamma : kZero;
    for (Series* series : {&by_gamma, &r_gamma, &ak_gamma}) series->x.push_back(x);
    by_gamma.y.push_back(o.nll);
    r_gamma.y.push_back(o.mean_absolute);
    ak_gamma.y.push_back(s.printed);
  }
  for (const Setting& s : kAlphaSweep) {
    for (Series* series : {&r_alpha, &ak_alpha}) series->x.push_back(s.alpha);
    r_alpha.y.push_back(outcome(s.alpha, s.gamma).mean_absolute);
    ak_alpha.y.push_back(s.printed);
  }
  Series baseline{.name = "uniform model",
                  .x = {kZero, 1},
                  .y = {uniform, uniform},
                  .stroke = Stroke::dashed,
                  .colour = 6};
  const std::string gamma_label = "gamma, fraction normalised (leftmost: 0)";
  out.figure = {.title = "Normalising a sample of the examples [AK]",
                .panels = {{.title = "Normalisation",
                            .x = {.label = gamma_label, .logarithmic = true},
                            .y = {.label = "mean |log Z| (nats)", .logarithmic = true},
                            .series = {r_gamma, ak_gamma}},
                           {.title = "Quality",
                            .x = {.label = gamma_label, .logarithmic = true},
                            .y = {.label = "held-out NLL (nats per word)", .low = 0},
                            .series = {by_gamma, baseline}},
                           {.title = "Strength of the penalty",
                            .x = {.label = "alpha (1/nats)", .logarithmic = true},
                            .y = {.label = "mean |log Z| (nats)", .logarithmic = true},
                            .series = {r_alpha, ak_alpha}}}};
  out.tables.push_back(std::move(table));
  Table rates{
      .caption =
          "How it depends on the AdaGrad rate (alpha = 1, same epochs): held-out NLL, and R of gamma = 0.",
      .columns = {"rate", "NLL, gamma = 0", "NLL, gamma = 0.001", "NLL, gamma = 0.1", "R, gamma = 0",
                  "gamma = 0 worse than uniform"},
      .rows = {}};
  uint64_t worse = 0;
  double nearest = INFINITY, farthest = 0;  // NLL of gamma = 0.001 less that of 0.1
  for (const double rate : kRates) {
    std::vector<AkOutcome> at;
    for (const double gamma : {0.0, 0.001, 0.1}) {
      TrainOptions changed = train_options({1, gamma, 0}, options);
      changed.learning_rate = rate;
      at.push_back(measure(train, test, changed));
    }
    rates.add(
        {rate, at[0].nll, at[1].nll, at[2].nll, at[0].mean_absolute, at[0].nll > uniform ? "yes" : "no"});
    worse += at[0].nll > uniform ? 1 : 0;
    nearest = std::min(nearest, at[1].nll - at[2].nll);
    farthest = std::max(farthest, at[1].nll - at[2].nll);
  }
  options.progress(1);
  out.tables.push_back(std::move(rates));
  const AkOutcome &none = outcome(1, 0), &few = outcome(1, 0.001), &tenth = outcome(1, 0.1),
                  &every = outcome(1, 1);
  out.facts = {{"uniform_nll", uniform},
               {"nll_gamma_0", none.nll},
               {"nll_gamma_0.001", few.nll},
               {"nll_gamma_0.01", outcome(1, 0.01).nll},
               {"nll_gamma_0.1", tenth.nll},
               {"nll_gamma_1", every.nll},
               {"mean_abs_log_z_gamma_0", none.mean_absolute},
               {"growth_gamma_0", none.mean_absolute / none.early},
               {"growth_gamma_0.1", tenth.mean_absolute / tenth.early},
               {"mean_abs_log_z_gamma_0.1", tenth.mean_absolute},
               {"mean_abs_log_z_gamma_1", every.mean_absolute},
               {"mean_abs_log_z_alpha_0.01", outcome(0.01, 0.1).mean_absolute},
               {"mean_abs_log_z_alpha_10", outcome(10, 0.1).mean_absolute},
               {"cost_ratio_gamma_0.1", tenth.normalizers / every.normalizers}};
  const bool diverges = none.mean_absolute > 1.5 * none.early && tenth.mean_absolute < 1.5 * tenth.early;
  out.measured = fmt::format(
      "gamma = 0 {}: four times the epochs make mean |log Z| {:.3g} times as large ({:.3g} times at gamma = "
      "0.1); it ends at {:.3g} with a held-out NLL of {:.3g}, {} than the {:.3g} of the uniform model. From "
      "gamma = 0.001 to 1 the NLL is {:.3f}, {:.3f}, {:.3f} and {:.3f}; gamma = 0.1 computes {:.3g} of the "
      "log-normalizers of gamma = 1. At gamma = 0.1, mean |log Z| goes from {:.3g} at alpha = 0.01 to {:.3g} "
      "at alpha = 10.",
      diverges ? "diverges" : "does not diverge here", none.mean_absolute / none.early,
      tenth.mean_absolute / tenth.early, none.mean_absolute, none.nll,
      none.nll > uniform ? "worse" : "better", uniform, few.nll, outcome(1, 0.01).nll, tenth.nll, every.nll,
      tenth.normalizers / every.normalizers, outcome(0.01, 0.1).mean_absolute,
      outcome(10, 0.1).mean_absolute);
  out.measured += fmt::format(
      " This depends on the rate: gamma = 0 ends worse than uniform at {} of {} rates, and gamma = 0.001 is "
      "{:.2f} to {:.2f} nats worse than gamma = 0.1.",
      worse, kRates.size(), nearest, farthest);
  out.facts.emplace_back("rates_where_gamma_0_is_worse_than_uniform", static_cast<double>(worse));
  return out;
}

}  // namespace selfnorm
