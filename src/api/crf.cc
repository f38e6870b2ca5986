#include "selfnorm/crf.h"

#include <algorithm>

#include "api/rows.h"
#include "base/failure.h"
#include "base/option_table.h"
#include "data/example_source.h"
#include "data/string_index.h"
#include "family/classifier/trainer.h"
#include "family/crf/crf_batch.h"
#include "family/crf/crf_evaluation.h"
#include "family/crf/crf_trainer.h"
#include "normalizer/crf/crf_scorer.h"
#include "normalizer/crf/decode.h"
#include "objective/registry.h"

namespace selfnorm {

struct Crf::Content {
  CrfModel model;
  StringIndex unigrams, labels;
};

namespace {

// `y` may be empty: no labels. Labels beyond those of the index are numbered after them.
Sequences sequences_of(const std::vector<AttributeSentence>& x, const std::vector<LabelSequence>& y,
                       const StringIndex& unigrams, const StringIndex& labels) {
  if (x.empty()) throw Error("found no sentences; expected at least one");
  if (!y.empty() && y.size() != x.size())
    throw_error("found {} label sequences for {} sentences; expected one each", y.size(), x.size());
  Sequences out;
  StringIndex unseen;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i].empty()) throw_error("sentence {} (from 0) is empty; expected positions", i);
    if (!y.empty() && y[i].size() != x[i].size())
      throw_error("sentence {} (from 0) has {} positions and {} labels; expected one a position", i,
                  x[i].size(), y[i].size());
    for (size_t t = 0; t < x[i].size(); ++t) {
      std::vector<uint32_t> row;
      for (const std::string& attribute : x[i][t])
        if (const auto number = unigrams.find(attribute)) row.push_back(*number);
      std::sort(row.begin(), row.end());
      row.erase(std::unique(row.begin(), row.end()), row.end());
      out.unigram.attribute.insert(out.unigram.attribute.end(), row.begin(), row.end());
      out.unigram.begin.push_back(out.unigram.attribute.size());
      if (y.empty()) {
        out.label.push_back(kNoLabel);
        continue;
      }
      const auto label = labels.find(y[i][t]);
      out.label.push_back(label ? *label : labels.size() + unseen.add(y[i][t]));
      out.unseen.tokens += !label;
    }
    out.sentence_begin.push_back(out.label.size());
  }
  out.unseen.labels = unseen.strings();
  return out;
}

}  // namespace

Crf Crf::train(const std::vector<AttributeSentence>& x, const std::vector<LabelSequence>& y,
               const Options& options) {
  TrainObserver silent;
  return train(x, y, options, silent);
}

Crf Crf::train(const std::vector<AttributeSentence>& x, const std::vector<LabelSequence>& y,
               const Options& given, TrainObserver& observer) {
  CrfOptions options, initial;
  train_option_table("crf", options).set(given);
  options.validate();
  train_option_table("crf", options).refuse_idle(train_option_table("crf", initial));
  if (y.empty()) throw Error("found no labels; expected a label sequence for every sentence");
  Content content;
  for (const AttributeSentence& sentence : x)
    for (const Attributes& attributes : sentence)
      for (const std::string& attribute : attributes) content.unigrams.add(attribute);
  for (const LabelSequence& labels : y)
    for (const std::string& label : labels) content.labels.add(label);
  SequenceEncoder encoder;
  encoder.format = SequenceFormat::attributes;
  encoder.labels = content.labels.strings();
  encoder.unigrams = content.unigrams.strings();
  if (encoder.labels.size() < 2) throw_error("found {} labels; expected at least two", encoder.labels.size());
  Sequences data = sequences_of(x, y, content.unigrams, content.labels), valid;
  const double part = default_hold_out(x.size(), objective_entry(options.objective.name).is_constraint);
  if (part > 0) {
    const HeldOut split = hold_out(x.size(), part, options.seed);
    valid = subset(data, split.valid);
    data = subset(data, split.train);
  }
  CrfTrainResult result = train_crf({data, part > 0 ? &valid : nullptr, encoder}, options, {}, observer);
  check_ending(result, observer);
  content.model = std::move(result.model);
  return Crf(std::make_shared<Content>(std::move(content)));
}

Crf Crf::load(const std::string& path) {
  CrfModel model = load_crf(model_file_of(path));
  if (!model.encoder.bigrams.empty())
    throw Error(path + ": found attributes of pairs of labels; expected attributes of positions alone");
  StringIndex unigrams(model.encoder.unigrams), labels(model.encoder.labels);
  return Crf(std::make_shared<Content>(Content{std::move(model), std::move(unigrams), std::move(labels)}));
}

void Crf::save(const std::string& path) const { save_crf(content_->model, path); }

const std::vector<std::string>& Crf::labels() const { return content_->model.encoder.labels; }

std::vector<TaggedSequence> Crf::tag(const std::vector<AttributeSentence>& x) const {
  const Sequences data = sequences_of(x, {}, content_->unigrams, content_->labels);
  CrfScorer scorer(content_->model.shape, content_->model.theta);
  Lattice lattice;
  std::vector<TaggedSequence> out(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const CrfScores scores = scorer(data, i);
    const Labelling best = viterbi<float>(scores);
    lattice.forward(scores);
    for (const uint32_t label : best.labels) out[i].labels.push_back(labels()[label]);
    out[i].log_probability = lattice.log_prob(scores, best.labels);
  }
  return out;
}

std::vector<std::vector<double>> Crf::marginals(const std::vector<AttributeSentence>& x) const {
  const Sequences data = sequences_of(x, {}, content_->unigrams, content_->labels);
  CrfScorer scorer(content_->model.shape, content_->model.theta);
  Lattice lattice;
  std::vector<std::vector<double>> out(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const CrfScores scores = scorer(data, i);
    lattice.forward(scores);
    lattice.backward(scores);
    out[i].assign(lattice.marginals().begin(), lattice.marginals().end());
  }
  return out;
}

CrfQuality Crf::evaluate(const std::vector<AttributeSentence>& x, const std::vector<LabelSequence>& y) const {
  const Sequences data = sequences_of(x, y, content_->unigrams, content_->labels);
  if (seen_sentences(data, content_->model.shape.labels).empty())
    throw Error("found labels that the CRF has not seen in all sentences; expected some without");
  const CrfEvaluation found = evaluate_crf(content_->model, data);
  return {.sentences = found.sentences,
          .tokens = found.tokens,
          .accuracy = found.accuracy,
          .nll_exact = found.nll_exact,
          .nll_raw = found.nll_raw,
          .log_z_rms = found.log_z.rms};
}

}  // namespace selfnorm
