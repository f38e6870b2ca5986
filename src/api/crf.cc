#include "selfnorm/crf.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "api/memory_file.h"
#include "api/rows.h"
#include "api/training_options.h"
#include "base/failure.h"
#include "data/example_source.h"
#include "data/sentences/sentence_encoding.h"
#include "data/string_index.h"
#include "family/classifier/loop.h"
#include "family/classifier/trainer.h"
#include "family/crf/crf_batch.h"
#include "family/crf/crf_evaluation.h"
#include "family/crf/crf_trainer.h"
#include "math/parallel.h"
#include "normalizer/crf/crf_scorer.h"
#include "normalizer/crf/decode.h"
#include "objective/registry.h"

namespace selfnorm {

struct Crf::Content {
  CrfModel model;
  StringIndex unigrams, labels;
};

namespace {

constexpr size_t kSentencesAtOnce = 16;

template <class Sentence>
void check_sentences(const std::vector<Sentence>& x, const std::vector<LabelSequence>& y) {
  if (x.empty()) throw Error("found no sentences; expected at least one");
  if (!y.empty() && y.size() != x.size())
    throw_error("found {} label sequences for {} sentences; expected one each", y.size(), x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i].empty()) throw_error("sentence {} (from 0) is empty; expected positions", i);
    if (!y.empty() && y[i].size() != x[i].size())
      throw_error("sentence {} (from 0) has {} positions and {} labels; expected one a position", i,
                  x[i].size(), y[i].size());
  }
}

// `y` may be empty: no labels. Labels beyond those of the index are numbered after them.
Sequences sequences_of(const std::vector<AttributeSentence>& x, const std::vector<LabelSequence>& y,
                       const StringIndex& unigrams, const StringIndex& labels) {
  check_sentences(x, y);
  Sequences out;
  StringIndex unseen;
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t t = 0; t < x[i].size(); ++t) {
      std::map<uint32_t, float> row;  // of equal names the last counts
      for (const Attribute& attribute : x[i][t]) {
        if (!(std::abs(attribute.value) <= kLargestValue))
          throw_error("sentence {}, position {} (from 0): found {} = {}; expected at most {:g} in size", i, t,
                      attribute.name, attribute.value, kLargestValue);
        if (const auto number = unigrams.find(attribute.name)) row[*number] = attribute.value;
      }
      for (const auto& [number, value] : row) {
        out.unigram.attribute.push_back(number);
        out.unigram.value.push_back(value);
      }
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
  auto& values = out.unigram.value;
  if (std::all_of(values.begin(), values.end(), [](float v) { return v == 1; })) values.clear();
  out.unseen.labels = unseen.strings();
  return out;
}

// Columns that end with the label, a token a line. `y` may be empty.
std::string column_lines(const std::vector<TokenSentence>& x, const std::vector<LabelSequence>& y) {
  check_sentences(x, y);
  std::string out;
  const auto add = [&](size_t i, size_t t, const std::string& field, char end) {
    if (field.empty() || field.find_first_of(std::string_view("\t\n\r \v\f\0", 7)) != std::string::npos)
      throw_error("sentence {}, token {} (from 0): found '{}'; expected words without white space", i, t,
                  field);
    out.append(field).append(1, end);
  };
  for (size_t i = 0; i < x.size(); ++i, out += '\n')
    for (size_t t = 0; t < x[i].size(); ++t) {
      if (x[i][t].empty())
        throw_error("sentence {}, token {} (from 0): found no columns; expected a word at least", i, t);
      for (const std::string& field : x[i][t])
        add(i, t, field, y.empty() && &field == &x[i][t].back() ? '\n' : '\t');
      if (!y.empty()) add(i, t, y[i][t], '\n');
    }
  return out;
}

Sequences tokens_for(const CrfModel& model, const std::vector<TokenSentence>& x,
                     const std::vector<LabelSequence>& y) {
  if (model.encoder.format == SequenceFormat::attributes)
    throw Error("found tokens; the CRF has no templates and was trained on attributes");
  const MemoryFile file("the sentences", column_lines(x, y));
  return file.read_by([&](const std::string& path) {
    return read_sequences(path, encoder_for(model.encoder, SequenceFormat::columns), !y.empty(),
                          UnseenLabel::kept);
  });
}

CrfTrainOptions options_of(const Options& given) {
  CrfTrainOptions options, initial;
  crf_option_table(options).set(given);
  crf_option_table(options).validate();
  options.training.validate();
  crf_option_table(options).refuse_idle(crf_option_table(initial));
  return options;
}

CrfModel trained_crf(SequenceRead read, const CrfOptions& options, const Run& run) {
  refuse_weights(run);
  if (read.encoder.labels.size() < 2)
    throw_error("found {} labels; expected at least two", read.encoder.labels.size());
  refuse_other_steps("crf", options, CrfOptions(), choose_optimiser(options, shape_of(read.encoder).size()));
  const uint64_t sentences = read.data.sentences();
  const double part =
      hold_out_share(run, default_hold_out(sentences, objective_entry(options.objective.name).is_constraint));
  Sequences valid;
  if (part > 0) {
    const auto [kept, held_out] = random_split(sentences, part, options.seed, kHoldOutStream);
    valid = subset(read.data, held_out);
    read.data = subset(read.data, kept);
  }
  CrfTrainResult result = train_crf({read.data, part > 0 ? &valid : nullptr, read.encoder}, options,
                                    run.checkpoint, observer_of(run));
  check_ending(result, run);
  return std::move(result.model);
}

}  // namespace

Crf Crf::train(const std::vector<AttributeSentence>& x, const std::vector<LabelSequence>& y,
               const Options& given, const Run& run) {
  const CrfTrainOptions options = options_of(given);
  if (y.empty()) throw Error("found no labels; expected a label sequence for every sentence");
  if (!options.templates.empty()) throw Error("templates are for tokens; found attributes");
  std::vector<uint64_t> count;
  StringIndex all, unigrams, labels;
  for (const AttributeSentence& sentence : x)
    for (const Attributes& attributes : sentence)
      for (const Attribute& attribute : attributes) {
        const uint32_t number = all.add(attribute.name);
        count.resize(all.size());
        ++count[number];
      }
  for (uint32_t i = 0; i < all.size(); ++i)
    if (count[i] >= options.min_count) unigrams.add(all[i]);
  for (const LabelSequence& sequence : y)
    for (const std::string& label : sequence) labels.add(label);
  SequenceRead read;
  read.encoder.format = SequenceFormat::attributes;
  read.encoder.labels = labels.strings();
  read.encoder.unigrams = unigrams.strings();
  read.data = sequences_of(x, y, unigrams, labels);
  return Crf(std::make_shared<Content>(
      Content{trained_crf(std::move(read), options.training, run), std::move(unigrams), std::move(labels)}));
}

Crf Crf::train(const std::vector<TokenSentence>& x, const std::vector<LabelSequence>& y, const Options& given,
               const Run& run) {
  const CrfTrainOptions options = options_of(given);
  if (y.empty()) throw Error("found no labels; expected a label sequence for every sentence");
  const MemoryFile file("the sentences", column_lines(x, y));
  CrfModel model = trained_crf(file.read_by([&](const std::string& path) {
    return learn_sequences(path, {.format = SequenceFormat::columns,
                                  .target = {},
                                  .templates = options.templates,
                                  .templates_name = "templates",
                                  .min_count = options.min_count});
  }),
                               options.training, run);
  return Crf(opened(std::move(model)));
}

std::shared_ptr<const Crf::Content> Crf::opened(CrfModel&& model) {
  StringIndex unigrams(model.encoder.unigrams), labels(model.encoder.labels);
  return std::make_shared<Content>(Content{std::move(model), std::move(unigrams), std::move(labels)});
}

Crf Crf::load(const std::string& path) { return Crf(opened(load_crf(model_file_of(path)))); }

void Crf::save(const std::string& path) const { save_crf(content_->model, path); }

const std::vector<std::string>& Crf::labels() const { return content_->model.encoder.labels; }

bool Crf::has_templates() const { return content_->model.encoder.format != SequenceFormat::attributes; }

Sequences Crf::read(const std::vector<AttributeSentence>& x, const std::vector<LabelSequence>& y) const {
  if (!content_->model.encoder.bigrams.empty())
    throw Error("the CRF has attributes of pairs of labels; expected tokens for its templates");
  return sequences_of(x, y, content_->unigrams, content_->labels);
}

Sequences Crf::read(const std::vector<TokenSentence>& x, const std::vector<LabelSequence>& y) const {
  return tokens_for(content_->model, x, y);
}

Crf::Tagged Crf::tagged(const Sequences& data, uint32_t best) const {
  if (best == 0) throw Error("asked for the 0 best labellings; expected 1 or more");
  Tagged out(data.sentences());
  parallel_ranges(out.size(), kSentencesAtOnce, [&](size_t begin, size_t end) {
    CrfScorer scorer(content_->model.shape, content_->model.theta);
    Lattice lattice;
    for (size_t i = begin; i < end; ++i) {
      const CrfScores scores = scorer(data, i);
      lattice.forward(scores);
      for (const Labelling& found :
           best == 1 ? std::vector{viterbi<float>(scores)} : n_best<float>(scores, best)) {
        TaggedSequence& sequence = out[i].emplace_back();
        for (const uint32_t label : found.labels) sequence.labels.push_back(labels()[label]);
        sequence.log_probability = lattice.log_prob(scores, found.labels);
      }
    }
  });
  return out;
}

Crf::Tagged Crf::tag(const std::vector<AttributeSentence>& x, uint32_t best) const {
  return tagged(read(x, {}), best);
}
Crf::Tagged Crf::tag(const std::vector<TokenSentence>& x, uint32_t best) const {
  return tagged(read(x, {}), best);
}

std::vector<TaggedSequence> Crf::tag(const std::vector<AttributeSentence>& x) const {
  std::vector<TaggedSequence> out;
  for (auto& found : tag(x, 1)) out.push_back(std::move(found[0]));
  return out;
}

std::vector<std::vector<double>> Crf::marginals_of(const Sequences& data) const {
  std::vector<std::vector<double>> out(data.sentences());
  parallel_ranges(out.size(), kSentencesAtOnce, [&](size_t begin, size_t end) {
    CrfScorer scorer(content_->model.shape, content_->model.theta);
    Lattice lattice;
    for (size_t i = begin; i < end; ++i) {
      const CrfScores scores = scorer(data, i);
      lattice.forward(scores);
      lattice.backward(scores);
      out[i].assign(lattice.marginals().begin(), lattice.marginals().end());
    }
  });
  return out;
}

std::vector<std::vector<double>> Crf::marginals(const std::vector<AttributeSentence>& x) const {
  return marginals_of(read(x, {}));
}
std::vector<std::vector<double>> Crf::marginals(const std::vector<TokenSentence>& x) const {
  return marginals_of(read(x, {}));
}

CrfQuality Crf::quality(const Sequences& data) const {
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

CrfQuality Crf::evaluate(const std::vector<AttributeSentence>& x, const std::vector<LabelSequence>& y) const {
  return quality(read(x, y));
}
CrfQuality Crf::evaluate(const std::vector<TokenSentence>& x, const std::vector<LabelSequence>& y) const {
  return quality(read(x, y));
}

}  // namespace selfnorm
