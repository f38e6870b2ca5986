#include <fmt/format.h>
#include <unistd.h>

#include <charconv>

#include "commands.h"
#include "evaluation_report.h"
#include "interruption.h"
#include "label_list.h"
#include "metrics_log.h"
#include "model_header.h"
#include "output.h"
#include "progress_line.h"
#include "reading_note.h"
#include "run_directory.h"
#include "selfnorm/base/error.h"
#include "selfnorm/base/memory.h"
#include "selfnorm/model/text_model.h"
#include "selfnorm/train/class_weight.h"
#include "selfnorm/train/trainer.h"

namespace selfnorm::cli {
namespace {

constexpr uint64_t kFewestToSplit = 20;
constexpr double kLargestCentre = 1e6;

class RunObserver : public TrainObserver {
 public:
  RunObserver(const std::string& metrics, bool quiet) : log_(metrics), line_(quiet), quiet_(quiet) {}

  void on_progress(const Progress& progress) override {
    log_.append(progress);
    line_.show(progress);
  }
  void on_warning(const std::string& text) override {
    line_.finish();
    if (!quiet_) warning(text);
  }
  bool stop_requested() override { return interruption_requested(); }
  void finish() { line_.finish(); }

 private:
  MetricsLog log_;
  ProgressLine line_;
  bool quiet_;
};

struct TrainingData {
  Dataset train;
  std::optional<Dataset> valid;
  std::optional<TextEncoder> text;
  std::string target;              // column of a table
  std::vector<std::string> notes;  // held until all inputs are known to be good
  std::vector<std::pair<std::string, ReadReport>> reports;
  nlohmann::ordered_json record, valid_record;
};

// A word that is "auto" (nothing) or a number from `low` to `high`.
std::optional<double> number_or_auto(const char* option, const std::string& word, double low, double high) {
  if (word == "auto") return std::nullopt;
  const char* end = word.data() + word.size();
  double value = 0;
  const auto parsed = std::from_chars(word.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || !(value >= low && value <= high)) {
    throw Error(fmt::format("{} is '{}'; expected auto or a number from {} to {}", option, word, low, high));
  }
  return value;
}

// Nothing is selected by validation under the constraint, so all of TRAIN can keep its promise; a handful of
// rows cannot spare any.
double hold_out_fraction(const TrainArguments& given, uint64_t examples) {
  const bool all = given.options.objective.name == "constraint" || examples < kFewestToSplit;
  return number_or_auto("--hold-out", given.hold_out, 0, 0.5).value_or(all ? 0 : 0.1);
}

void check_options(const Arguments& arguments) {
  const TrainArguments& given = arguments.train;
  if (given.train.empty()) throw Error("train classifier needs TRAIN, a file of labelled data");
  hold_out_fraction(given, kFewestToSplit);
  number_or_auto("--centre", given.centre, -kLargestCentre, kLargestCentre);
  if (given.checkpoint_seconds < 0) {
    throw Error(fmt::format("--checkpoint-seconds is {}; expected 0 or more", given.checkpoint_seconds));
  }
  if (!given.valid_labels.empty() && given.valid.empty()) throw Error("--valid-labels needs --valid");
  given.options.validate();
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
  ReadResult read = read_dataset(arguments.train.valid, options);
  data.notes.push_back("validation: " + reading_text(arguments.train.valid, read));
  data.reports.emplace_back(arguments.train.valid, std::move(read.report));
  return std::move(read.data);
}

// Known to fail, so before anything is said or made. Training holds the weights, their gradient, a direction
// and the point before at the least.
void check_classes(const Dataset& data) {
  if (data.is_joint()) return;
  if (data.classes() < 2) {
    throw Error(
        fmt::format("the training data has one class only ('{}'); expected at least two", data.labels[0]));
  }
  require_memory(
      4.0 * sizeof(float) * data.classes() * data.features.columns(),
      fmt::format("{} classes x {} features", grouped(data.classes()), grouped(data.features.columns())),
      "use fewer features (a smaller largest index; text: --hash-buckets, --min-count) or classes");
}

// The training data without their rows have all that the option can be wrong about.
void check_class_weight(const std::string& spec, const Dataset& data) {
  Dataset rowless;
  rowless.labels = data.labels;
  if (data.is_joint()) rowless.group_begin = {0};
  apply_class_weight(spec, rowless, nullptr);
}

TrainingData read_data(const Arguments& arguments) {
  const TrainArguments& given = arguments.train;
  ReadResult read = read_dataset(given.train, arguments.reader.options);
  check_classes(read.data);
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
    auto [train, valid] = hold_out(data.train, part, given.options.seed);
    data.train = std::move(train);
    data.valid = std::move(valid);
  }
  return data;
}

// Nothing that depends on the clock or the machine may enter the model: a resumed run must give the same
// bytes.
Evaluation audit(TrainResult& result, const Dataset& data, bool is_held_out, int threads) {
  const Evaluation evaluation = evaluate(result.model, data, threads);
  nlohmann::ordered_json record = {{"data", is_held_out ? "validation" : "training"}};
  record.update(evaluation_json(evaluation, result.model.log_normalizer));
  result.model.audit_json = record.dump();
  return evaluation;
}

void report(const Arguments& arguments, const RunDirectory& run, const TrainResult& result,
            const Evaluation& audited, bool is_held_out) {
  if (arguments.common.json) {
    print_json({{"run", run.path()},
                {"model", run.file(kModelName)},
                {"objective", arguments.train.options.objective.name},
                {"optimiser", result.optimiser},
                {"reason", result.reason},
                {"diverged", result.diverged},
                {"train", progress_json(result.last)},
                {"audit", nlohmann::ordered_json::parse(result.model.audit_json)}});
    return;
  }
  if (arguments.common.quiet) return;
  print(fmt::format("{} after {} steps of {}, {:.1f} s\n\n", result.reason, grouped(result.last.step),
                    result.optimiser, result.last.seconds));
  print(fmt::format("on the {} data:\n", is_held_out ? "validation" : "training"));
  print(evaluation_table({{arguments.train.options.objective.name, audited, {}}}));
  print(log_z_line(audited.log_z));
  print(fmt::format("\nmodel    {}\nmetrics  {}\noptions  {}\n", run.file(kModelName), run.file(kMetricsName),
                    run.file(kRecordName)));
}

void say(const TrainingData& data, bool is_quiet) {
  for (const std::string& text : data.notes)
    if (!is_quiet) note(text);
  for (const auto& [path, report] : data.reports) note_bad_rows(path, report);
}

int stopped(const RunDirectory& run) {
  note(fmt::format("interrupted; 'selfnorm train classifier --resume --out {}' continues to the same model",
                   run.path()));
  return kInterruptedExit;
}

nlohmann::ordered_json run_record(const Arguments& arguments, const TrainingData& data) {
  return {{"command", arguments.command},
          {"options", arguments.options},
          {"data", data.record},
          {"valid", data.valid_record}};
}

}  // namespace

int train_classifier_command(const Arguments& arguments) {
  const TrainArguments& given = arguments.train;
  check_options(arguments);
  const std::string path = given.resume        ? resumed_run_path(given)
                           : given.out.empty() ? new_run_path(given)
                                               : given.out;
  RunDirectory run(path, given.resume      ? RunDirectory::Mode::kResume
                         : given.overwrite ? RunDirectory::Mode::kOverwrite
                                           : RunDirectory::Mode::kNew);
  if (given.resume && run.is_complete()) {
    note(fmt::format("the run in {} is complete; nothing to resume", run.path()));
    return 0;
  }
  TrainingData data = read_data(arguments);
  if (given.resume) {
    check_same_data(run.path(), "data", data.record);
    if (!data.valid_record.is_null()) check_same_data(run.path(), "valid", data.valid_record);
  }
  TrainOptions options = given.options;
  options.objective.centre = number_or_auto("--centre", given.centre, -kLargestCentre, kLargestCentre);
  if (!given.carrier.empty() && data.train.is_joint())
    throw Error(
        "--carrier is one number per class; the data are groups of alternatives (qid:) without classes");
  if (!given.carrier.empty()) options.log_carrier = read_carrier(given.carrier, data.train.labels);
  say(data, arguments.common.quiet);
  // While reading a signal ends the process at once: nothing has been made yet.
  catch_interruptions();
  run.begin(run_record(arguments, data));

  const bool is_held_out = data.valid.has_value();
  const Dataset audited = is_held_out ? *data.valid : data.train;
  RunObserver observer(run.file(kMetricsName), arguments.common.quiet);
  TrainResult result = train_classifier(
      std::move(data.train), std::move(data.valid), options,
      {.path = run.file(kCheckpointName), .seconds = given.checkpoint_seconds, .resume = given.resume},
      observer);
  observer.finish();
  if (result.interrupted) {
    run.keep();
    return stopped(run);
  }
  if (result.diverged)
    warning("the loss stopped being finite; the model is the last good one (try a smaller --learning-rate)");
  if (data.text) store_text(*data.text, result.model);
  result.model.target = data.target;
  const Evaluation evaluation = audit(result, audited, is_held_out, arguments.common.threads);
  save_model(result.model, run.file(kModelName));
  run.keep();
  unlink(run.file(kCheckpointName).c_str());
  report(arguments, run, result, evaluation, is_held_out);
  return 0;
}

}  // namespace selfnorm::cli
