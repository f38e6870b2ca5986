#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "base/failure.h"
#include "commands.h"
#include "crf/crf_model.h"
#include "crf/crf_report.h"
#include "data/example_source.h"
#include "data/plausible.h"
#include "data/string_index.h"
#include "engine/checkpoint.h"
#include "family/classifier/loop.h"
#include "family/classifier/trainer.h"
#include "family/crf/crf_batch.h"
#include "family/crf/crf_evaluation.h"
#include "family/crf/crf_ladder.h"
#include "family/crf/crf_section.h"
#include "family/crf/crf_trainer.h"
#include "objective/registry.h"
#include "output.h"
#include "run/reading_note.h"
#include "run/run_record.h"
#include "run/training_run.h"
#include "served_kind.h"

namespace selfnorm::cli {
namespace {

constexpr size_t kListedLabels = 20;

struct TrainingSentences {
  Sequences train;
  std::optional<Sequences> valid;
  std::vector<uint64_t> held_out;  // sentences of TRAIN that `valid` is made of
  SequenceEncoder encoder;
  std::vector<std::string> notes;  // held until all inputs are known to be good
  nlohmann::ordered_json record, valid_record;

  const Sequences& audited() const { return valid ? *valid : train; }
};

void check_crf_options(const Arguments& arguments) {
  const CrfArguments& given = arguments.crf;
  if (given.run.train.empty()) throw Error("train crf needs TRAIN, a file of labelled sentences");
  check_rows(given.run);
  given.options.validate();
  if (given.min_count == 0) throw Error("--min-count is 0; expected 1 or more");
  CrfOptions options = given.options, initial;
  train_option_table("crf", options).refuse_idle(train_option_table("crf", initial));
}

std::string template_text(const std::string& path) {
  if (path.empty()) return "";
  const auto fail = [&path](const std::string& found) {
    throw_error("--template {}: {}, expected a file with a template a line, such as U00:%x[0,0]", path,
                found);
  };
  if (std::filesystem::is_directory(path)) fail("found a directory");
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("cannot be read");
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (text.empty()) fail("found no text");
  return text;
}

// Of the data and of what their numbers mean.
nlohmann::ordered_json sentences_record(const std::string& path, const SequenceEncoder& encoder,
                                        const Sequences& data) {
  std::string words = encoder.templates.text;
  for (const auto* list : {&encoder.labels, &encoder.unigrams, &encoder.bigrams})
    for (const std::string& word : *list) words.append(1, '\n').append(word);
  return {{"path", path},
          {"sentences", data.sentences()},
          {"tokens", data.positions()},
          {"labels", encoder.labels.size()},
          {"attributes", encoder.unigrams.size() + encoder.bigrams.size()},
          {"hash", selfnorm::fingerprint(data, words)}};
}

RunNeeds needs_of(const CrfArguments& given, const TrainingSentences& data) {
  const CrfShape shape = shape_of(data.encoder);
  const TrainOptions options = given.options;
  const std::string optimiser = choose_optimiser(options, shape.size());
  const LoopVectors vectors = loop_vectors(options, optimiser, data.valid.has_value());
  const double bytes = sizeof(float) * static_cast<double>(shape.size()), labels = shape.labels;
  const double passes = static_cast<double>(optimiser == "lbfgs" ? options.iterations : options.epochs);
  const double of_labels = labels * static_cast<double>(data.train.unigram.attribute.size()),
               of_pairs = labels * labels *
                          static_cast<double>(data.train.positions() + data.train.bigram.attribute.size());
  return {.what = fmt::format("{} labels x {} attributes and {} attributes of pairs", grouped(shape.labels),
                              grouped(shape.unigrams), grouped(shape.bigrams)),
          .memory = bytes * (vectors.memory + 1),
          .checkpoint = bytes * vectors.checkpoint,
          .model = bytes,
          .operations = passes * 4 * (of_labels + of_pairs),
          .advice =
              "use a larger --min-count, or fewer templates in --template, bigram ones first; if there "
              "should be fewer labels, see --target and --format"};
}

// Enough of them to see whether they are labels.
std::string label_words(const std::vector<std::string>& labels) {
  const size_t shown = std::min(labels.size(), kListedLabels);
  return fmt::format("{}{}", fmt::join(labels.begin(), labels.begin() + static_cast<ptrdiff_t>(shown), ", "),
                     shown < labels.size() ? ", ...; if these are none, see --target and --format" : "");
}

TrainingSentences read_data(const CrfArguments& given) {
  refuse_doubtful(given.run, sentences_doubt(given.run.train));
  SequenceRead read = learn_sequences(given.run.train, {.format = sequence_format_of(given.format),
                                                        .target = given.target,
                                                        .templates = template_text(given.template_file),
                                                        .templates_name = given.template_file,
                                                        .min_count = given.min_count});
  TrainingSentences out;
  out.encoder = std::move(read.encoder);
  out.train = std::move(read.data);
  refuse_doubtful(given.run, labels_doubt(out.train, out.encoder.labels.size(), read.last_values));
  out.notes.push_back(fmt::format(
      "read {}, {} labels, {} attributes", sentences_text(given.run.train, out.encoder, out.train),
      grouped(out.encoder.labels.size()), grouped(out.encoder.unigrams.size() + out.encoder.bigrams.size())));
  out.notes.push_back("labels: " + label_words(out.encoder.labels));
  out.record = sentences_record(given.run.train, out.encoder, out.train);
  const uint64_t sentences = out.train.sentences();
  if (!given.run.valid.empty()) {
    out.valid = read_sequences(given.run.valid, out.encoder, true, UnseenLabel::kept);
    if (seen_sentences(*out.valid, shape_of(out.encoder).labels).empty())
      throw_at(given.run.valid, out.valid->unseen.line,
               "found the label '{}', which {} does not have, and others in all sentences; expected "
               "validation data with the labels of the training data",
               shown_label(out.valid->unseen.labels[0]), given.run.train);
    out.notes.push_back("validation: " + sentences_text(given.run.valid, out.encoder, *out.valid));
    out.valid_record = sentences_record(given.run.valid, out.encoder, *out.valid);
  } else if (const double part = hold_out_fraction(
                 given.run, sentences, objective_entry(given.options.objective.name).is_constraint);
             part > 0 && sentences > 1) {
    auto [kept, held_out] = random_split(sentences, part, given.options.seed, kHoldOutStream);
    out.valid = subset(out.train, held_out);
    out.train = subset(out.train, kept);
    out.held_out = std::move(held_out);
    out.notes.push_back(fmt::format("held out: {} sentences", grouped(out.held_out.size())));
  }
  return out;
}

// The worst sentences by their place in the file.
CrfAudit errors_of(const CrfModel& model, const TrainingSentences& data) {
  CrfAudit out = audit_crf(model, data.audited(), {.with_v_star = false});
  for (WorstInput& input : out.worst)
    if (!data.held_out.empty()) input.example = data.held_out[input.example];
  return out;
}

class CrfTraining final : public Training {
 public:
  explicit CrfTraining(const Arguments& arguments)
      : arguments_(arguments), given_(arguments.crf), options_(given_.options) {
    check_crf_options(arguments);
  }

  ReadData read(const std::string&) override {
    data_ = read_data(given_);
    refuse_other_steps("crf", options_, CrfOptions(),
                       choose_optimiser(options_, shape_of(data_.encoder).size()));
    ReadData out{.notes = std::move(data_.notes),
                 .warnings = {},
                 .records = {{"data", data_.record}, {"valid", data_.valid_record}},
                 .needs = needs_of(given_, data_)};
    if (data_.valid) out.warnings = unseen_warnings(given_.run.valid, *data_.valid);
    return out;
  }

  RunResult train(const CheckpointOptions& checkpoint, TrainObserver& observer) override {
    // Measured by their likelihood, which sentences with unseen labels do not have.
    const Sequences* measured = data_.valid ? &*data_.valid : nullptr;
    Sequences seen;
    if (measured && measured->unseen.tokens > 0) {
      seen = subset(*measured, seen_sentences(*measured, shape_of(data_.encoder).labels));
      measured = &seen;
    }
    result_ = train_crf({data_.train, measured, data_.encoder}, options_, checkpoint, observer);
    return result_;
  }

  Verdict judge() override {
    evaluation_ = evaluate_crf(result_.model, data_.audited(), arguments_.common.threads);
    Verdict out{.data = data_.valid ? "validation" : "training"};
    out.audit = {{"data", out.data}};
    out.audit.update(crf_json(evaluation_));
    CrfLadder ladder;
    bool is_trained_on = false;
    if (data_.valid) {
      is_trained_on = part_of_valid(given_.run.train, given_.run.valid) == RowsPart::kTrained;
      ladder = fit_crf_ladder(result_.model, *data_.valid, options_.seed, is_trained_on);
      out.audit["ladder"] = Json::parse(crf_ladder_json(ladder));
    }
    result_.model.audit_json = out.audit.dump();
    out.nll = evaluation_.nll_exact_per_token;
    const auto labels = static_cast<uint32_t>(data_.encoder.labels.size());
    if (data_.valid)
      out.simple = frequency_model("the frequencies of the labels", class_counts(data_.train.label, labels),
                                   class_counts(data_.valid->label, labels));
    out.table = crf_table({{options_.objective.name, evaluation_, {}}}) + crf_details(evaluation_);
    if (data_.valid) {
      const size_t best = runtime::cheapest_within(ladder.rungs, {});
      out.table +=
          fmt::format("certified: {}; 'score' gives {}\n",
                      is_trained_on ? "nothing: the model was trained on these sentences"
                                    : rungs_text(ladder.rungs, ladder.enough),
                      best == runtime::kNoRung
                          ? "exact log-probabilities unless --within allows less"
                          : fmt::format("those of {} unless told otherwise", ladder.rungs[best].name));
    }
    return out;
  }

  void save(const std::string& path) const override { save_crf(result_.model, path); }

  void show(const std::string&, ReportDocument& document) override {
    const RowsPart part =
        data_.valid ? part_of_valid(given_.run.train, given_.run.valid) : RowsPart::kTrained;
    add_crf({result_.model, errors_of(result_.model, data_), &evaluation_, "raw",
             data_words(given_.run, part, "sentences"), part},
            document);
  }

 private:
  const Arguments& arguments_;
  const CrfArguments& given_;
  const CrfOptions& options_;
  TrainingSentences data_;
  CrfTrainResult result_;
  CrfEvaluation evaluation_;
};

}  // namespace

std::unique_ptr<Training> crf_training(const Arguments& arguments) {
  return std::make_unique<CrfTraining>(arguments);
}

}  // namespace selfnorm::cli
