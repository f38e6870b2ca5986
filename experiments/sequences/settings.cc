#include "experiments/sequences/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace selfnorm {
namespace {

constexpr double kAlphas[] = {1e-4, 1e-3, 1e-2, 0.1, 0.3, 1, 10};
constexpr std::array<std::string_view, 6> kLengthLines = {"exact",       "exact, lossless", "penalty 0.001",
                                                          "penalty 0.1", "penalty 10",      "constraint 1"};
constexpr double kDelta = 1;  // of a sentence
constexpr double kMinibatchAlpha = 0.1, kGamma = 0.1;

CrfOptions crf_options(const ExperimentOptions& options) {
  CrfOptions out;
  out.seed = options.seed;
  if (!options.reduced()) return out;
  out.iterations = 12;
  out.epochs = 2;
  return out;
}

}  // namespace

std::vector<CrfTrial> crf_trials(const ExperimentOptions& options) {
  std::vector<CrfTrial> out;
  const auto add = [&](std::string name, std::string family, const ObjectiveOptions& objective) -> CrfTrial& {
    out.push_back({std::move(name), std::move(family), crf_options(options)});
    out.back().options.objective = objective;
    return out.back();
  };
  add("exact", "exact", {.name = "exact"});
  add("exact, lossless", "lossless", {.name = "exact"}).change = CrfChange::lossless;
  add("exact, b(x)", "b(x)", {.name = "exact"}).change = CrfChange::amortised;
  for (const double alpha : kAlphas)
    add(fmt::format("penalty {}", alpha), "penalty", {.name = "penalty", .alpha = alpha});
  add(fmt::format("constraint {}", kDelta), "constraint", {.name = "constraint", .delta = kDelta});
  add("exact, AdaGrad", "AdaGrad", {.name = "exact"}).options.optimiser = "adagrad";
  add(fmt::format("penalty {}, AdaGrad", kMinibatchAlpha), "AdaGrad",
      {.name = "penalty", .alpha = kMinibatchAlpha})
      .options.optimiser = "adagrad";
  add(fmt::format("sampled {}, AdaGrad", kGamma), "AdaGrad",
      {.name = "sampled", .alpha = kMinibatchAlpha, .gamma = kGamma})
      .options.optimiser = "adagrad";
  for (CrfTrial& trial : out)
    trial.has_length_line = std::ranges::find(kLengthLines, trial.name) != kLengthLines.end();
  return out;
}

std::vector<std::pair<std::string, std::string>> crf_settings(const Treebank& data,
                                                              const ExperimentOptions& options) {
  const CrfOptions o = crf_options(options);
  const auto sentences = [](const Sequences& part) {
    return fmt::format("{} sentences, {} tokens", part.sentences(), part.positions());
  };
  return {{"train", sentences(data.train)},
          {"dev", sentences(data.valid)},
          {"test", sentences(data.test)},
          {"labels", std::to_string(data.encoder.labels.size())},
          {"attributes", std::to_string(data.encoder.unigrams.size() + data.encoder.bigrams.size())},
          {"templates", "those of tagging, the default"},
          {"l2", fmt::format("{}", o.l2)},
          {"L-BFGS", fmt::format("{} iterations at most, tolerance {}", o.iterations, o.tolerance)},
          {"AdaGrad", fmt::format("{} passes at most, {} sentences a step", o.epochs, o.batch)},
          {"patience", std::to_string(o.patience)},
          {"seed", std::to_string(o.seed)}};
}

}  // namespace selfnorm
