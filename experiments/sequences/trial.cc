#include "experiments/sequences/trial.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "document/table.h"
#include "engine/checkpoint.h"
#include "experiments/density/trial.h"
#include "family/classifier/loop.h"
#include "family/classifier/options.h"
#include "family/crf/crf_evaluation.h"
#include "family/crf/crf_gauge.h"
#include "normalizer/crf/crf_scorer.h"

namespace selfnorm {
namespace {

constexpr std::array kFiles = {"en_ewt-ud-train.conllu", "en_ewt-ud-dev.conllu", "en_ewt-ud-test.conllu"};
constexpr const char* kUniversalTag = "UPOS";  // column of CoNLL-U
constexpr int kKeptDigits = 6;                 // of the NLL of a sentence

const char* word(CrfChange change) {
  return change == CrfChange::lossless ? "lossless" : change == CrfChange::amortised ? "amortised" : "";
}

void apply(CrfChange change, const Sequences& data, int threads, CrfModel& model) {
  if (change == CrfChange::none) return;
  const std::vector<double> log_z = crf_log_z(model, data, threads);
  const auto features = change == CrfChange::lossless ? CrfFeatures::all : CrfFeatures::unigrams;
  const LinearFit fit = crf_gauge(data, model.shape, log_z, features, CrfFitPurpose::prediction);
  if (change == CrfChange::lossless)
    apply_crf_gauge(fit, model);
  else
    model.normalizer = amortised_crf(fit);
}

// Of A - b, where there is a b.
const CrfLevels& levels_of(const CrfEvaluation& evaluation) {
  if (evaluation.amortised) return *evaluation.amortised;
  return evaluation;
}

std::vector<double> sentence_nll(const CrfModel& model, const Sequences& data, int threads) {
  std::vector<double> out = crf_log_z(model, data, threads);
  const CrfScorer scorer(model.shape, model.theta);
  for (uint64_t i = 0; i < data.sentences(); ++i)
    out[i] = rounded(out[i] - scorer.target_score(data, i), kKeptDigits);
  return out;
}

std::string training_key(const CrfTrial& trial, const Treebank& data) {
  const TrainOptions options = trial.options;
  const std::string text = options_text(options, choose_optimiser(options, shape_of(data.encoder).size())) +
                           trial.options.optimiser;
  return fingerprint(data.train, text) + fingerprint(data.valid, "");
}

}  // namespace

std::string missing_treebank_files(const std::string& folder) {
  std::string out;
  for (const char* name : kFiles)
    if (!std::filesystem::exists(folder + "/" + name)) out += (out.empty() ? "" : ", ") + std::string(name);
  return out;
}

Treebank read_treebank(const std::string& folder) {
  const auto path = [&](size_t i) { return folder + "/" + kFiles[i]; };
  SequenceRead train = learn_sequences(
      path(0),
      {.format = SequenceFormat::conllu, .target = kUniversalTag, .templates = {}, .templates_name = {}});
  Treebank out{std::move(train.encoder), std::move(train.data), {}, {}};
  out.valid = read_sequences(path(1), out.encoder, true);
  out.test = read_sequences(path(2), out.encoder, true);
  return out;
}

std::string CrfTrials::key(const CrfTrial& trial) const {
  return fmt::format("{} {} data {} test {}", trial.name, word(trial.change), training_key(trial, data_),
                     fingerprint(data_.test, ""));
}

const CrfTrials::Training& CrfTrials::trained(const CrfTrial& trial) {
  const std::string key = training_key(trial, data_);
  if (last_ && last_->key == key) return *last_;
  last_.reset();
  CrfOptions options = trial.options;
  options.threads = threads_;
  TrainObserver observer;
  const double start = processor_seconds();
  CrfTrainResult result =
      train_crf({data_.train, &data_.valid, data_.encoder}, options, CheckpointOptions{}, observer);
  return last_.emplace(Training{key, std::move(result), processor_seconds() - start});
}

CellValues CrfTrials::run(const CrfTrial& trial) {
  const Training& training = trained(trial);
  CrfModel model = training.result.model;
  const double start = processor_seconds();
  apply(trial.change, data_.train, threads_, model);
  CellValues out;
  std::map<std::string, double>& numbers = out.numbers;
  numbers["seconds"] = training.seconds + processor_seconds() - start;
  numbers["steps"] = static_cast<double>(training.result.last.step);
  numbers["diverged"] = training.result.diverged ? 1 : 0;
  numbers["train_rms"] = levels_of(evaluate_crf(model, data_.train, threads_)).log_z.rms;
  numbers["valid_rms"] = levels_of(evaluate_crf(model, data_.valid, threads_)).log_z.rms;
  const CrfEvaluation test = evaluate_crf(model, data_.test, threads_);
  numbers["accuracy"] = test.accuracy;
  numbers["sentence_accuracy"] = test.sentence_accuracy;
  numbers["nll"] = test.nll_exact_per_token;
  numbers["nll_raw"] = test.amortised ? test.amortised->nll_per_token : test.nll_raw_per_token;
  const CrfLevels& levels = levels_of(test);
  numbers["mean"] = levels.log_z.mean;
  numbers["rms"] = levels.log_z.rms;
  numbers["rms_per_token"] = levels.log_z_per_token.rms;
  for (const LengthLevel& level : levels.by_length) {
    const std::string name = fmt::format("length_{}_", level.shortest);
    numbers[name + "sentences"] = static_cast<double>(level.sentences);
    numbers[name + "rms"] = level.rms;
    numbers[name + "rms_per_token"] = level.rms_per_token;
  }
  out.grid = sentence_nll(model, data_.test, threads_);
  return out;
}

}  // namespace selfnorm
