#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "commands.h"
#include "crf/crf_model.h"
#include "crf/crf_report.h"
#include "grammar/applicability.h"
#include "interruption.h"
#include "output.h"
#include "run/reading_note.h"
#include "run/report_output.h"
#include "run/rows_part.h"
#include "run/run_record.h"
#include "run/training_run.h"
#include "selfnorm/analysis/crf_audit.h"
#include "selfnorm/base/error.h"
#include "selfnorm/data/plausible.h"
#include "selfnorm/data/string_index.h"
#include "selfnorm/engine/checkpoint.h"
#include "selfnorm/math/parallel.h"
#include "selfnorm/objective/registry.h"
#include "selfnorm/report/crf_section.h"
#include "selfnorm/train/crf_batch.h"
#include "selfnorm/train/crf_trainer.h"
#include "selfnorm/train/loop.h"
#include "selfnorm/train/trainer.h"

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
  check_run(given.run);
  check_rows(given.run);
  given.options.validate();
  if (given.min_count == 0) throw Error("--min-count is 0; expected 1 or more");
  CrfOptions options = given.options, initial;
  train_option_table("crf", options).refuse_idle(train_option_table("crf", initial));
}

void check_optimiser(const Arguments& arguments, const std::string& optimiser) {
  const Applicability rules(arguments);
  const std::string& given = arguments.crf.options.optimiser;
  const std::string found = fmt::format("{}{}", optimiser, given == "auto" ? ", which auto takes here" : "");
  rules.require({"--iterations", "--tolerance", "--history"}, optimiser == "lbfgs", "--optimiser lbfgs",
                found);
  rules.require({"--epochs", "--batch", "--learning-rate"}, optimiser == "adagrad", "--optimiser adagrad",
                found);
}

std::string template_text(const std::string& path) {
  if (path.empty()) return "";
  const auto fail = [&path](const std::string& found) {
    throw Error(fmt::format("--template {}: {}, expected a file with a template a line, such as U00:%x[0,0]",
                            path, found));
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

// Nothing is selected by validation under the constraint, so all of TRAIN can keep its promise.
double held_out_fraction(const CrfArguments& given, uint64_t sentences) {
  const bool all =
      given.run.hold_out == "auto" && objective_entry(given.options.objective.name).is_constraint;
  return all ? 0 : hold_out_fraction(given.run, sentences);
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
  SequenceRead read = learn_sequences(given.run.train, {.format = sequence_format_of(given.format),
                                                        .target = given.target,
                                                        .templates = template_text(given.template_file),
                                                        .templates_name = given.template_file,
                                                        .min_count = given.min_count});
  TrainingSentences out;
  out.encoder = std::move(read.encoder);
  out.train = std::move(read.data);
  refuse_doubtful(given.run, labels_doubt(out.train, out.encoder.labels.size()));
  out.notes.push_back(fmt::format(
      "read {}, {} labels, {} attributes", sentences_text(given.run.train, out.encoder, out.train),
      grouped(out.encoder.labels.size()), grouped(out.encoder.unigrams.size() + out.encoder.bigrams.size())));
  out.notes.push_back("labels: " + label_words(out.encoder.labels));
  out.record = sentences_record(given.run.train, out.encoder, out.train);
  const uint64_t sentences = out.train.sentences();
  if (!given.run.valid.empty()) {
    out.valid = read_sequences(given.run.valid, out.encoder, true, UnseenLabel::kept);
    if (seen_sentences(*out.valid, shape_of(out.encoder).labels).empty())
      throw DataError(
          given.run.valid, out.valid->unseen.line,
          fmt::format("found the label '{}', which {} does not have, and others in all sentences; "
                      "expected validation data with the labels of the training data",
                      shown_label(out.valid->unseen.labels[0]), given.run.train));
    out.notes.push_back("validation: " + sentences_text(given.run.valid, out.encoder, *out.valid));
    out.valid_record = sentences_record(given.run.valid, out.encoder, *out.valid);
  } else if (const double part = held_out_fraction(given, sentences); part > 0 && sentences > 1) {
    HeldOut split = hold_out(sentences, part, given.options.seed);
    out.valid = subset(out.train, split.valid);
    out.train = subset(out.train, split.train);
    out.held_out = std::move(split.valid);
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

ReportDocument document(const Arguments& arguments, const RunDirectory& run, bool diverged,
                        const ShownCrf& shown) {
  ReportDocument out = run_heading(arguments, run, diverged);
  add_crf(shown, out);
  return out;
}

}  // namespace

int train_crf_command(const Arguments& arguments) {
  const CrfArguments& given = arguments.crf;
  check_crf_options(arguments);
  RunDirectory run = run_directory(arguments);
  if (has_nothing_to_resume(arguments, run)) return 0;
  const ThreadLimit limit(arguments.common.threads);
  TrainingSentences data = read_data(given);
  check_optimiser(arguments, choose_optimiser(given.options, shape_of(data.encoder).size()));
  const DataRecords records{{"data", data.record}, {"valid", data.valid_record}};
  check_resumed_data(arguments, run, records);
  data.notes.push_back(checked_needs(arguments, run, needs_of(given, data)));
  begin_run(arguments, data.notes, records, run);
  if (data.valid) note_unseen(given.run.valid, *data.valid);

  RunObserver observer(run.file(kMetricsName), arguments.common.quiet);
  // Measured by their likelihood, which sentences with unseen labels do not have.
  const Sequences* measured = data.valid ? &*data.valid : nullptr;
  Sequences seen;
  if (measured && measured->unseen.tokens > 0) {
    seen = subset(*measured, seen_sentences(*measured, shape_of(data.encoder).labels));
    measured = &seen;
  }
  CrfTrainResult result = train_crf({data.train, measured, data.encoder}, given.options,
                                    checkpoint_options(given.run, run), observer);
  observer.finish();
  if (result.interrupted) return interrupted();
  warn_about_divergence(result.diverged);
  const CrfEvaluation evaluation = evaluate_crf(result.model, data.audited(), arguments.common.threads);
  const std::string data_name = data.valid ? "validation" : "training";
  // Nothing that depends on the clock or the machine may enter the model: a resumed run must give the same
  // bytes.
  nlohmann::ordered_json audit = {{"data", data_name}};
  audit.update(crf_json(evaluation));
  result.model.audit_json = audit.dump();
  if (data.valid) {
    const auto labels = static_cast<uint32_t>(data.encoder.labels.size());
    if (warn_about_simple(
            arguments, evaluation.nll_exact_per_token,
            frequency_model("the frequencies of the labels", class_counts(data.train.label, labels),
                            class_counts(data.valid->label, labels))))
      result.diverged = true;
  }
  save_crf(result.model, run.file(kModelName));
  end_run(run);
  const RowsPart part = data.valid ? part_of_valid(given.run.train, given.run.valid) : RowsPart::kTrained;
  const std::string page = write_run_report(arguments, run, [&] {
    return document(arguments, run, result.diverged,
                    {result.model, errors_of(result.model, data), &evaluation, "raw",
                     data_words(given.run, part, "sentences"), part});
  });
  print_report(arguments, run,
               {result.reason, result.optimiser, result.diverged, result.last, result.model.audit_json},
               {data_name,
                crf_table({{given.options.objective.name, evaluation, {}}}) + crf_details(evaluation), page});
  return exit_code(result.diverged);
}

}  // namespace selfnorm::cli
