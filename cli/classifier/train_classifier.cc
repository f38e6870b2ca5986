#include <fmt/format.h>

#include <cmath>

#include "classifier/evaluation_report.h"
#include "classifier/model_header.h"
#include "commands.h"
#include "grammar/label_list.h"
#include "grammar/option_list.h"
#include "interruption.h"
#include "output.h"
#include "run/model_document.h"
#include "run/reading_note.h"
#include "run/report_output.h"
#include "run/rows_part.h"
#include "run/run_needs.h"
#include "run/run_record.h"
#include "run/training_run.h"
#include "selfnorm/base/error.h"
#include "selfnorm/data/plausible.h"
#include "selfnorm/data/string_index.h"
#include "selfnorm/data/text/text_encoder.h"
#include "selfnorm/model/encoded_states.h"
#include "selfnorm/model/text_model.h"
#include "selfnorm/objective/registry.h"
#include "selfnorm/train/loop.h"
#include "selfnorm/train/trainer.h"

namespace selfnorm::cli {
namespace {

constexpr uint64_t kFewestExamplesToSplit = 20;

struct TrainingData {
  Dataset train;
  std::optional<Dataset> valid;
  std::vector<uint64_t> held_out;  // numbers in TRAIN of what `valid` is made of
  std::optional<TextEncoder> text;
  std::string target;              // column of a table
  std::vector<std::string> notes;  // held until all inputs are known to be good
  std::vector<std::pair<std::string, ReadReport>> reports;
  nlohmann::ordered_json record, valid_record;

  // The trainer measures the likelihood of validation data, so it gets those that have one.
  bool has_unseen() const { return reports.back().second.unseen.examples > 0; }
};

// Nothing is selected by validation under the constraint, so all of TRAIN can keep its promise; a handful of
// rows cannot spare any.
double hold_out_fraction(const TrainArguments& given, uint64_t examples) {
  const bool all =
      objective_entry(given.options.objective.name).is_constraint || examples < kFewestExamplesToSplit;
  return number_or_auto("--hold-out", given.hold_out, 0, 0.5).value_or(all ? 0 : 0.1);
}

void check_classifier_options(const Arguments& arguments) {
  const TrainArguments& given = arguments.train;
  if (given.train.empty()) throw Error("train classifier needs TRAIN, a file of labelled data");
  check_training(given);
  if (!given.valid_labels.empty() && given.valid.empty()) throw Error("--valid-labels needs --valid");
  if (objective_entry(given.options.objective.name).seam == ObjectiveSeam::tree &&
      !given.options.encoder.is_network())
    throw Error("--objective hierarchical needs --encoder bag");
  if (!given.options.encoder.embeddings.empty() && !given.options.encoder.is_network())
    throw Error("--embeddings needs --encoder bag");
  if (given.options.encoder.hidden > 0 && !given.options.encoder.is_network())
    throw Error(fmt::format("--hidden {} needs --encoder bag", given.options.encoder.hidden));
  arguments.reader.options.validate();
}

Dataset read_valid(const Arguments& arguments, TrainingData& data) {
  const Schema schema{.labels = data.train.labels,
                      .feature_count = data.train.features.columns(),
                      .feature_names = data.train.feature_names,
                      .text = data.text,
                      .target = data.target,
                      .is_joint = data.train.is_joint()};
  ReadOptions options = arguments.reader.options;
  options.schema = &schema;
  options.labels_path = arguments.train.valid_labels;
  options.keep_unseen = true;
  ReadResult read = read_dataset(arguments.train.valid, options);
  if (read.report.unseen.examples == read.data.examples())
    throw Error(
        fmt::format("{}: found the label '{}', which {} does not have, and others in all rows; "
                    "expected validation data with the labels of the training data",
                    arguments.train.valid, shown_label(read.report.unseen.label), arguments.train.train));
  data.notes.push_back("validation: " + reading_text(arguments.train.valid, read));
  data.reports.emplace_back(arguments.train.valid, std::move(read.report));
  return std::move(read.data);
}

constexpr const char* kAdvice =
    "use fewer features (a smaller largest index; text: --min-count 2, --hash-buckets, --max-vocabulary) or "
    "classes, or --encoder bag";

NetworkPlan network_plan(const Dataset& data) {
  NetworkPlan plan;
  plan.kind = EncoderKind::Bag;
  plan.inputs = data.features.columns();
  plan.classes = data.classes();
  plan.examples = data.examples();
  return plan;
}

void check_encoder(const EncoderOptions& encoder, const Dataset& data) {
  const bool is_fit = encoder.kind == "auto" || (encoder.kind == "identity") != data.features.is_sparse;
  if (!is_fit)
    throw Error(fmt::format("--encoder {}: expected {} data, found {} ones", encoder.kind,
                            encoder.kind == "identity" ? "dense" : "sparse",
                            data.features.is_sparse ? "sparse" : "dense"));
  if (encoder.is_network() && data.is_joint())
    throw Error("--encoder bag: expected classes, found groups of alternatives (qid:)");
}

// Known to fail, so before anything is said or made.
void check_classes(const Dataset& data, const TrainArguments& given, Format format) {
  const TrainOptions& options = given.options;
  check_encoder(options.encoder, data);
  if (data.is_joint()) return;
  if (data.classes() < 2) {
    throw Error(
        fmt::format("the training data has one class only ('{}'); expected at least two", data.labels[0]));
  }
  refuse_doubtful(given, classes_doubt(data, format == Format::csv || format == Format::tsv));
}

// Of a linear model, or a network.
RunNeeds needs_of(const TrainArguments& given, const TrainingData& data, const NetworkPlan& plan) {
  const TrainOptions& options = given.options;
  if (options.encoder.is_network()) return network_needs(plan, options, kAdvice);
  const bool is_joint = data.train.is_joint();
  const double classes = is_joint ? 1 : data.train.classes(), features = data.train.features.columns();
  const double parameters = classes * (features + 1);
  const std::string optimiser = choose_optimiser(options, static_cast<size_t>(parameters));
  const LoopVectors vectors = loop_vectors(options, optimiser, data.valid.has_value());
  const double real = options.precision == "double" ? sizeof(double) : sizeof(float);
  const double values = data.train.features.is_sparse
                            ? static_cast<double>(data.train.features.sparse.column.size())
                            : static_cast<double>(data.train.features.rows()) * features;
  const bool draws = is_candidate_objective(options.objective.name);
  const double passes = static_cast<double>(optimiser == "lbfgs" ? options.iterations : options.epochs);
  const double scored = draws ? std::min(classes, static_cast<double>(options.objective.samples)) : classes;
  return {.what = fmt::format("{} classes x {} features", grouped(data.train.classes()),
                              grouped(data.train.features.columns())),
          .memory = real * parameters * vectors.memory + sizeof(float) * parameters,
          .checkpoint = real * parameters * vectors.checkpoint,
          .model = (options.weights == "int8"       ? 1
                    : options.weights == "bfloat16" ? 2
                                                    : 4) *
                   parameters,
          .operations = passes * 2 * values * scored,
          .advice = kAdvice};
}

// The training data without their rows have all that the option can be wrong about.
void check_class_weight(const std::string& spec, const Dataset& data) {
  Dataset rowless;
  rowless.labels = data.labels;
  if (data.is_joint()) rowless.group_begin = {0};
  apply_class_weight(spec, rowless, nullptr);
}

// The vocabulary is that of all rows; what is held out must meet unknown words as new texts will.
void keep_taught_words(TrainingData& data) {
  const std::vector<uint32_t> used = used_columns(data.train.features.sparse);
  keep_columns(used, data.train);
  keep_columns(used, *data.valid);
  data.text = with_words(*data.text, used);
}

TrainingData read_data(const Arguments& arguments) {
  const TrainArguments& given = arguments.train;
  ReadResult read = read_dataset(given.train, arguments.reader.options);
  check_classes(read.data, given, read.report.format);
  check_class_weight(given.options.class_weight, read.data);
  if (!given.weight_file.empty()) {
    read.data.weight = read_weights(given.weight_file, read.data.examples(), read.report.left_out);
  }
  TrainingData data;
  data.notes.push_back("read " + reading_text(given.train, read));
  data.train = std::move(read.data);
  data.text = std::move(read.text);
  data.target = read.report.target;
  data.record = data_record(given.train, data.train);
  data.record["bad_rows"] = read.report.bad.size();
  data.reports.emplace_back(given.train, std::move(read.report));
  if (!given.valid.empty()) {
    data.valid = read_valid(arguments, data);
    data.valid_record = data_record(given.valid, *data.valid);
  } else if (const double part = hold_out_fraction(given, data.train.examples());
             part > 0 && data.train.examples() > 1) {
    const HeldOut split = hold_out(data.train.examples(), part, given.options.seed);
    for (const uint64_t example : split.valid) data.held_out.push_back(data.train.numbers[example]);
    data.valid = subset(data.train, split.valid);
    data.train = subset(data.train, split.train);
    const bool has_words = data.text && !data.text->vocabulary().empty();
    if (has_words && given.options.encoder.is_network()) keep_taught_words(data);
  }
  return data;
}

// Of the weights as they will be stored. Nothing that depends on the clock or the machine may enter the
// model: a resumed run must give the same bytes.
Evaluation audit(TrainResult& result, const Dataset& data, bool is_held_out, int threads) {
  round_as_stored(result.model);
  const Evaluation evaluation = evaluate(result.model, data, threads);
  nlohmann::ordered_json record = {{"data", is_held_out ? "validation" : "training"}};
  record.update(evaluation_json(evaluation, result.model.log_normalizer));
  result.model.audit_json = record.dump();
  return evaluation;
}

// The classes, or the alternatives of a group, by chance; none where weights say that chance is not meant.
std::optional<SimpleModel> simple_model(const TrainingData& data, const TrainOptions& options) {
  if (!data.valid || data.valid->examples() == 0) return std::nullopt;
  if (!options.class_weight.empty() || !data.train.weight.empty()) return std::nullopt;
  if (!data.train.is_joint())
    return frequency_model("the frequencies of the classes",
                           class_counts(data.train.target, data.train.classes()),
                           class_counts(data.valid->target, data.train.classes()));
  double nll = 0;
  const std::vector<uint64_t>& begin = data.valid->group_begin;
  for (size_t g = 0; g + 1 < begin.size(); ++g) nll += std::log(static_cast<double>(begin[g + 1] - begin[g]));
  return SimpleModel{"the uniform choice", nll / static_cast<double>(data.valid->examples()), ""};
}

// The words of the data that have embeddings, one row per feature.
std::vector<float> pretrained(const EncoderOptions& encoder, TrainingData& data) {
  if (encoder.embeddings.empty()) return {};
  if (!data.text || data.text->vocabulary().empty())
    throw Error("--embeddings are found by word; expected text with a vocabulary (no --hash-buckets)");
  WordVectors vectors =
      read_word_vectors(encoder.embeddings, StringIndex(data.text->vocabulary()), encoder.dimension);
  data.notes.push_back(vectors_text(encoder.embeddings, vectors, data.text->features()));
  return std::move(vectors.values);
}

TrainResult train_bag(TrainingData& data, NetworkPlan plan, const TrainOptions& options,
                      const CheckpointOptions& checkpoint, TrainObserver& observer) {
  apply_class_weight(options.class_weight, data.train, data.valid ? &*data.valid : nullptr);
  std::optional<BagFeed> valid;
  if (data.valid) valid.emplace(*data.valid);
  TrainResult result = train_network(BagFeed(data.train), valid ? &*valid : nullptr, std::move(plan), options,
                                     checkpoint, observer);
  result.model.input = ModelInput::Sparse;
  result.model.labels = data.train.labels;
  result.model.feature_names = data.train.feature_names;
  return result;
}

ReportDocument document(const FinishedRun& run, const Evaluation& evaluation, Dataset data) {
  const ModelFile& model = run.result.model;
  if (model.family == Family::Hierarchical) return normalised_run_document(run, evaluation);
  std::unique_ptr<ExampleSource> source = make_example_source(std::move(data));
  if (model.encoder.exists()) source = bag_states(model.encoder, std::move(source));
  return run_document(run, *source);
}

}  // namespace

int train_classifier_command(const Arguments& arguments) {
  const TrainArguments& given = arguments.train;
  check_classifier_options(arguments);
  RunDirectory run = run_directory(arguments);
  if (has_nothing_to_resume(arguments, run)) return 0;
  TrainingData data = read_data(arguments);
  const DataRecords records{{"data", data.record}, {"valid", data.valid_record}};
  check_resumed_data(arguments, run, records);
  TrainOptions options = given.options;
  if (!given.carrier.empty() && data.train.is_joint())
    throw Error(
        "--carrier is one number per class; the data are groups of alternatives (qid:) without classes");
  if (!given.carrier.empty()) options.log_carrier = read_carrier(given.carrier, data.train.labels);
  NetworkPlan plan = network_plan(data.train);
  data.notes.push_back(checked_needs(arguments, run, needs_of(given, data, plan)));
  plan.embedding = pretrained(options.encoder, data);
  begin_run(arguments, data.notes, records, run);
  for (const auto& [path, report] : data.reports) {
    note_bad_rows(path, report);
    note_unseen(path, report.unseen);
  }

  const bool is_held_out = data.valid.has_value();
  const std::optional<SimpleModel> simple = simple_model(data, options);
  Dataset audited = is_held_out ? *data.valid : data.train;
  if (is_held_out && data.has_unseen()) data.valid = subset(audited, seen_examples(audited));
  RunObserver observer(run.file(kMetricsName), arguments.common.quiet);
  const CheckpointOptions checkpoint = checkpoint_options(given, run);
  TrainResult result =
      options.encoder.is_network()
          ? train_bag(data, std::move(plan), options, checkpoint, observer)
          : train_classifier(std::move(data.train), std::move(data.valid), options, checkpoint, observer);
  observer.finish();
  if (result.interrupted) return interrupted();
  warn_about_divergence(result.diverged);
  if (data.text) store_text(*data.text, result.model);
  result.model.target = data.target;
  const Evaluation evaluation = audit(result, audited, is_held_out, arguments.common.threads);
  if (simple && warn_about_simple(arguments, evaluation.nll_exact, *simple)) result.diverged = true;
  save_result(result, run);
  const std::string data_name = is_held_out ? "validation" : "training";
  const RowsPart part = is_held_out ? part_of_valid(given.train, given.valid) : RowsPart::kTrained;
  const std::string page = write_run_report(arguments, run, [&] {
    return document({arguments, run, result, part, std::move(data.held_out)}, evaluation, std::move(audited));
  });
  const std::string table = evaluation_table({{given.options.objective.name, evaluation, {}}});
  print_report(arguments, run, end_of(result), {data_name, table + log_z_line(evaluation.log_z), page});
  return exit_code(result.diverged);
}

}  // namespace selfnorm::cli
