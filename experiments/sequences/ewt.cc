// Chains on a treebank: what self-normalisation costs and what it leaves of A on new sentences.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/sequences/page.h"
#include "experiments/sequences/settings.h"
#include "experiments/summary.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr const char* kFolder = "ud-english-ewt";

void describe_treebank(Record& out) {
  out.name = "sequences-ewt";
  out.title = "universal part-of-speech tags from the word form";
  out.looks = {
      "Down is better likelihood and left is better normalised: the penalty moves left along its line as "
      "alpha grows, and rises only where alpha is large.",
      "A grows with the sentence: per sentence lines should rise slowly, per token they should fall; the "
      "lossless form of the exact model, dashed, is the same model."};
  out.paper =
      "Accuracy and NLL of the exact model and of self-normalised ones at several alpha, with the likelihood "
      "lost against rms A per token, on English EWT (Universal Dependencies), UPOS from the word form.";
  out.differences =
      "The defaults of `train crf` for everything but the objective: default templates, l2, L-BFGS until the "
      "objective on dev, penalty included, does not improve; of the constraint, whose bound is about the "
      "training sentences, until it has found its multiplier. A of new sentences grows with the weights, so "
      "a large alpha stops training early: its points are models that were stopped, not optima of their "
      "objectives. After penalty and sampled the level of A on dev, a constant of a sentence and one of a "
      "token, is taken out, which leaves p as it is. Alpha and delta are of A of a sentence, not of a token. "
      "Lossless and b(x): A of the exact model on the training sentences is regressed on their attribute "
      "counts and length by conjugate gradients, stopped where a held-out tenth of them is fitted best, and "
      "taken from the parameters (p unchanged) or kept as b(x); the default templates make no attributes of "
      "pairs of labels, so that both regress on the same and differ in where the result is kept. Trainings "
      "with AdaGrad are for `sampled`, which needs minibatches, and those to compare it with. Settings were "
      "not chosen by looking at test sentences, but alpha 0.3 was added between its neighbours after their "
      "test numbers had been seen, and which penalty is called best is said of test numbers; training and "
      "test are one split, so errors are those of test sentences alone.";
}

const MeasuredCrf& find(const std::vector<MeasuredCrf>& crfs, const std::string& name) {
  const auto found = std::ranges::find_if(crfs, [&](const auto& c) { return c.trial.name == name; });
  if (found == crfs.end()) throw Bug("no model " + name);
  return *found;
}

// The penalised model that is normalised best per token of those that lose no more than two standard errors
// against the exact one; null: none.
const MeasuredCrf* best_free(const std::vector<MeasuredCrf>& crfs) {
  const MeasuredCrf* best = nullptr;
  for (const MeasuredCrf& crf : crfs) {
    if (crf.trial.family != "penalty" || crf.lost > 2 * crf.lost_error) continue;
    if (best == nullptr || crf.cell.at("rms_per_token") < best->cell.at("rms_per_token")) best = &crf;
  }
  return best;
}

void add_facts(const std::vector<MeasuredCrf>& crfs, Record& out) {
  const MeasuredCrf &exact = find(crfs, "exact"), &lossless = find(crfs, "exact, lossless"),
                    &amortised = find(crfs, "exact, b(x)");
  out.facts = {{"accuracy_exact", exact.cell.at("accuracy")},
               {"nll_exact", exact.cell.at("nll")},
               {"rms_exact", exact.cell.at("rms")},
               {"rms_lossless", lossless.cell.at("rms")},
               {"rms_lossless_train", lossless.cell.at("train_rms")},
               {"rms_amortised", amortised.cell.at("rms")}};
  const auto by_rms = [](const auto& a, const auto& b) { return a.cell.at("rms") < b.cell.at("rms"); };
  const MeasuredCrf& least = *std::ranges::min_element(crfs, by_rms);
  out.facts.emplace_back("least_rms", least.cell.at("rms"));
  out.facts.emplace_back("least_rms_model", least.trial.name);
  out.facts.emplace_back("least_rms_lost", least.lost);
  out.measured = fmt::format(
      "The exact model has {:.2f}% of the tokens right and an NLL of {:.4f} a token; its raw scores are off "
      "by {:.1f} nats a sentence (rms). Taken out without loss, A is off by {:.1f} on new sentences ({:.2g} "
      "on those of the regression), with b(x) by {:.1f}. Of all models {} has the smallest rms A, {:.2f} a "
      "sentence, and loses {:.4f} +- {:.4f} nats a token.",
      100 * exact.cell.at("accuracy"), exact.cell.at("nll"), exact.cell.at("rms"), lossless.cell.at("rms"),
      lossless.cell.at("train_rms"), amortised.cell.at("rms"), least.trial.name, least.cell.at("rms"),
      least.lost, least.lost_error);
  if (const MeasuredCrf* free = best_free(crfs)) {
    out.facts.emplace_back("best_free_model", free->trial.name);
    out.facts.emplace_back("best_free_rms", free->cell.at("rms"));
    out.measured += fmt::format(
        " The best normalised penalty that loses nothing beyond two standard errors is {}: rms A {:.2f} a "
        "sentence, {:.2f} a token, {:.4f} +- {:.4f} nats a token lost.",
        free->trial.name, free->cell.at("rms"), free->cell.at("rms_per_token"), free->lost, free->lost_error);
  } else {
    out.measured += " No penalty keeps the likelihood of the exact model within two standard errors.";
  }
}

}  // namespace

Record run_sequences_ewt(const ExperimentOptions& options) {
  Record out;
  describe_treebank(out);
  const std::string folder = options.data + "/" + kFolder;
  if (const std::string missing = missing_treebank_files(folder); !missing.empty()) {
    out.measured =
        fmt::format("NOT MEASURED: {} not found in '{}' (--data DIR or SELFNORM_DATA).", missing, folder);
    out.settings = {{"seed", std::to_string(options.seed)}};
    options.progress(1);
    return out;
  }
  const Treebank data = read_treebank(folder);
  const std::vector<CrfTrial> list = crf_trials(options);
  Trials trials(options, static_cast<double>(list.size()));
  CrfTrials runs(data, options.threads);
  std::vector<MeasuredCrf> crfs;
  crfs.reserve(list.size());
  for (const CrfTrial& trial : list)
    crfs.push_back({trial, trials.get(runs.key(trial), 1, [&] { return runs.run(trial); })});
  compare_with_first(data.test, crfs);
  add_facts(crfs, out);
  out.data = crf_numbers(crfs);
  out.tables = crf_tables(crfs);
  out.figure = {.title = "Likelihood against normalisation", .panels = {trade_off_panel(crfs)}};
  out.more_figures = {{"length", {.title = "A against the length", .panels = length_panels(crfs)}}};
  out.settings = crf_settings(data, options);
  options.progress(1);
  return out;
}

}  // namespace selfnorm
