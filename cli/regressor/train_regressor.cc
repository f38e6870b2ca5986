#include <fmt/format.h>

#include <numeric>
#include <optional>
#include <set>

#include "commands.h"
#include "interruption.h"
#include "output.h"
#include "regressor/regressor_data.h"
#include "regressor/regressor_report.h"
#include "regressor/regressor_tables.h"
#include "run/report_output.h"
#include "run/rows_part.h"
#include "run/run_record.h"
#include "run/training_run.h"
#include "selfnorm/base/error.h"
#include "selfnorm/math/parallel.h"
#include "selfnorm/train/regressor_trainer.h"

namespace selfnorm::cli {
namespace {

void check_regressor_options(const Arguments& arguments) {
  const RegressorArguments& given = arguments.regressor;
  if (given.run.train.empty())
    throw Error("train regressor needs DATA, a table with a target (csv, tsv, npz, safetensors)");
  check_run(given.run);
  check_rows(given.run);
  if (given.test == "-" && (given.run.train == "-" || given.run.valid == "-"))
    throw Error("standard input can be read only once; store the data of --test in a file");
  given.options.validate();
  RegressorOptions options = given.options, initial;
  regressor_option_table(options).refuse_idle(regressor_option_table(initial));
}

// One bound is that of every target.
RegressorOptions resolved(RegressorOptions options, size_t targets) {
  for (std::vector<double>* bound : {&options.lower, &options.upper})
    if (bound->size() == 1) bound->assign(targets, bound->front());
  return options;
}

// "inputs: x1, x2; categorical: colour (3 levels)"
std::string inputs_text(const TrainingTables& tables, bool standardises) {
  std::vector<std::string> left_out, numeric, categorical;
  const FrameEncoder encoder(tables.frame, tables.train, tables.targets, standardises, left_out);
  for (const std::string& name : encoder.columns()) {
    const FrameColumn& column = *tables.frame.find(name);
    if (column.is_numeric) {
      numeric.push_back(name);
      continue;
    }
    std::set<uint32_t> levels;
    for (const uint64_t row : tables.train) levels.insert(column.level[row]);
    levels.erase(kMissingLevel);
    categorical.push_back(fmt::format("{} ({} levels)", name, grouped(levels.size())));
  }
  const size_t others = tables.frame.columns.size() - tables.targets.size() - encoder.columns().size();
  return fmt::format("inputs: {} numeric columns{}{}; {} categorical{}{}; {} left out", numeric.size(),
                     numeric.empty() ? "" : " ", short_list(numeric), categorical.size(),
                     categorical.empty() ? "" : " ", short_list(categorical), others);
}

// Each network at most as large as dense layers of its widths on all columns.
RunNeeds needs_of(const RegressorOptions& options, const TrainingTables& tables) {
  double parameters = 0, widths = 0;
  for (const auto* layers : {&options.features, &options.joint, &options.normalizer}) {
    double inputs = static_cast<double>(tables.frame.columns.size());
    for (const uint32_t width : *layers) {
      parameters += (inputs + 1) * width;
      widths += width;
      inputs = width;
    }
  }
  const double members = static_cast<double>(options.ensemble), kBatch = 512;  // the largest of auto
  const double batch = options.batch == 0 ? kBatch : static_cast<double>(options.batch);
  const double scored =
      std::min(batch, static_cast<double>(tables.train.size())) * static_cast<double>(options.samples + 1);
  return {.what = fmt::format("{} columns with --samples {} and networks of {} parameters",
                              tables.frame.columns.size(), grouped(options.samples),
                              grouped(static_cast<uint64_t>(parameters))),
          .memory = sizeof(float) * ((6 + members) * parameters + 3 * scored * widths),
          .checkpoint = sizeof(float) * (5 + members) * parameters,
          .model = sizeof(float) * members * parameters,
          .operations = 0,
          .advice = "use a smaller --samples, --batch, --features or --joint"};
}

// A number that takes two values is a class.
std::string target_doubt(const TrainingTables& tables) {
  for (const std::string& name : tables.targets) {
    const FrameColumn& column = *tables.frame.find(name);
    std::set<double> values;
    for (size_t i = 0; column.is_numeric && i < tables.train.size() && values.size() <= 2; ++i)
      values.insert(column.number[tables.train[i]]);
    if (values.size() == 2 && tables.train.size() >= 20)
      return fmt::format(
          "the target {} takes two values only, {} and {}, which are classes; 'selfnorm train "
          "classifier' predicts them",
          name, *values.begin(), *values.rbegin());
  }
  return "";
}

constexpr uint64_t kMostShown = 20'000;  // rows that the pictures of a report look at

// What the finished model is evaluated on.
struct HeldOut {
  std::string name;
  RowsPart part;
  RegressionRows rows;
  const Frame& frame;
  std::vector<uint64_t> of_frame;  // its rows
};

// Validation rows of an ensemble, whose members hold out rows of their own, choose nothing.
RowsPart part_of_rows(const RunArguments& given, const Regressor& model) {
  const RowsPart part = part_of_valid(given.train, given.valid);
  return part == RowsPart::kChoseStep && model.members.size() > 1 ? RowsPart::kNone : part;
}

// A test file takes no part in training, unless it is one of the files that do.
RowsPart part_of_test(const RegressorArguments& given, const Regressor& model) {
  if (part_of_valid(given.run.train, given.test) == RowsPart::kTrained) return RowsPart::kTrained;
  const bool is_valid =
      !given.run.valid.empty() && part_of_valid(given.run.valid, given.test) == RowsPart::kTrained;
  return is_valid ? part_of_rows(given.run, model) : RowsPart::kNone;
}

HeldOut held_out_rows(const RegressorArguments& given, const Regressor& model, const TrainingTables& tables) {
  if (tables.test) {
    std::vector<uint64_t> all(tables.test->rows);
    std::iota(all.begin(), all.end(), uint64_t{0});
    return {"test", part_of_test(given, model), regression_rows(model, *tables.test, TargetNeed::kRequired),
            *tables.test, std::move(all)};
  }
  if (tables.valid.empty())
    return {"training", RowsPart::kTrained, regression_rows(model, tables.frame, tables.train), tables.frame,
            tables.train};
  return {"validation", part_of_rows(given.run, model), regression_rows(model, tables.frame, tables.valid),
          tables.frame, tables.valid};
}

// The run holds the model already. None: it diverged, which is what the run has to say.
std::optional<RegressionEvaluation> evaluated(const RegressorResult& result, const HeldOut& held_out,
                                              RunDirectory& run) {
  try {
    return evaluate_regressor(result.model, held_out.rows.inputs.view(), held_out.rows.target, {});
  } catch (const Error& error) {
    end_run(run);
    const std::string text =
        fmt::format("the model is trained and saved in {}, but could not be evaluated on the {} data: {}",
                    run.file(kModelName), held_out.name, error.what());
    if (!result.diverged) throw Error(text);
    warning(text);
    return std::nullopt;
  }
}

ReportDocument document(const Arguments& arguments, const RunDirectory& run, const RegressorResult& result,
                        const HeldOut& held_out, const RegressionEvaluation& evaluation) {
  ReportDocument out = run_heading(arguments, run, result.diverged);
  const size_t targets = result.model.targets.size();
  std::vector<uint64_t> of_frame;
  std::vector<double> target;
  const std::vector<uint64_t> chosen = spread_rows(held_out.of_frame.size(), kMostShown);
  for (const uint64_t row : chosen) {
    of_frame.push_back(held_out.of_frame[row]);
    for (size_t j = 0; j < targets; ++j) target.push_back(held_out.rows.target[row * targets + j]);
  }
  const Frame frame = taken_rows(held_out.frame, of_frame);
  const EncodedFrame inputs = held_out.rows.inputs.take(chosen);
  const RegressorArguments& given = arguments.regressor;
  const bool is_of_train =
      held_out.name == "training" || (held_out.name == "validation" && given.run.valid.empty());
  const std::string& file = is_of_train               ? given.run.train
                            : held_out.name == "test" ? given.test
                                                      : given.run.valid;
  add_regression({result.model, frame, inputs, target}, evaluation,
                 {fmt::format("{}, {} rows", file, held_out.name), held_out.part,
                  is_of_train ? held_out.of_frame : std::vector<uint64_t>{}},
                 out);
  return out;
}

}  // namespace

int train_regressor_command(const Arguments& arguments) {
  const RegressorArguments& given = arguments.regressor;
  check_regressor_options(arguments);
  RunDirectory run = run_directory(arguments);
  if (has_nothing_to_resume(arguments, run)) return 0;
  const ThreadLimit limit(arguments.common.threads);
  const TrainingTables tables = read_tables(arguments);
  const DataRecords records{
      {"data", tables.record}, {"valid", tables.valid_record}, {"test", tables.test_record}};
  check_resumed_data(arguments, run, records);
  std::vector<std::string> notes = tables.notes;
  refuse_doubtful(given.run, target_doubt(tables));
  notes.push_back(inputs_text(tables, given.options.module.empty()));
  if (!given.run.valid.empty() && given.options.ensemble > 1)
    notes.push_back(fmt::format(
        "{} takes no part in training: the members of an ensemble hold out rows of {}{}", given.run.valid,
        given.run.train, given.test.empty() ? "; the model is evaluated on it" : ""));
  notes.push_back(checked_needs(arguments, run, needs_of(given.options, tables)));
  begin_run(arguments, notes, records, run);

  RunObserver observer(run.file(kMetricsName), arguments.common.quiet);
  RegressorResult result = train_regressor(tables.frame, tables.targets, tables.train, tables.valid,
                                           resolved(given.options, tables.targets.size()),
                                           checkpoint_options(given.run, run), observer);
  observer.finish();
  if (result.interrupted) return interrupted();
  warn_about_divergence(result.diverged);
  // Whatever comes of the evaluation, training is not lost.
  save_regressor(result.model, run.file(kModelName));
  run.keep();
  stop_in_order(fmt::format("interrupted; the model is in {}, not yet evaluated", run.file(kModelName)));
  // Nothing that depends on the clock or the machine may enter the model: a resumed run must give the same
  // bytes.
  const HeldOut held_out = held_out_rows(given, result.model, tables);
  if (tables.test && !arguments.common.quiet)
    for (const std::string& text : encoding_notes(held_out.rows.report))
      note(fmt::format("{}: {}", given.test, text));
  const std::optional<RegressionEvaluation> evaluated_rows = evaluated(result, held_out, run);
  if (!evaluated_rows) {
    print_report(arguments, run, {result.reason, "adam", result.diverged, result.last, "null"},
                 {held_out.name, "not evaluated\n"});
    return exit_code(result.diverged);
  }
  const RegressionEvaluation& evaluation = *evaluated_rows;
  nlohmann::ordered_json audit = {{"data", held_out.name}};
  audit.update(regression_json(evaluation, tables.targets, held_out.part));
  if (held_out.part != RowsPart::kTrained) {
    const RegressionRows train = regression_rows(result.model, tables.frame, tables.train);
    const SimpleModel simple = simple_regression(result.model, {train.inputs.view(), train.target},
                                                 {held_out.rows.inputs.view(), held_out.rows.target});
    audit["simple"] = simple_json(simple);
    if (warn_about_simple(arguments, evaluation.nll, simple)) result.diverged = true;
  }
  result.model.audit_json = audit.dump();
  save_regressor(result.model, run.file(kModelName));
  end_run(run);
  const RegressionRow row{given.options.objective, tables.targets, evaluation, held_out.part};
  if (!arguments.common.quiet) warn_about_coverage(row);
  const std::string page = write_run_report(
      arguments, run, [&] { return document(arguments, run, result, held_out, evaluation); });
  print_report(arguments, run, {result.reason, "adam", result.diverged, result.last, result.model.audit_json},
               {held_out.name, regression_tables({row}), page});
  return exit_code(result.diverged);
}

}  // namespace selfnorm::cli
