#include <fmt/format.h>

#include "commands.h"
#include "interruption.h"
#include "output.h"
#include "regressor_applicability.h"
#include "regressor_data.h"
#include "regressor_report.h"
#include "regressor_tables.h"
#include "run_record.h"
#include "selfnorm/base/error.h"
#include "selfnorm/math/parallel.h"
#include "selfnorm/train/regressor_trainer.h"
#include "training_run.h"

namespace selfnorm::cli {
namespace {

void check_options(const Arguments& arguments) {
  const RegressorArguments& given = arguments.regressor;
  if (given.run.train.empty())
    throw Error("train regressor needs DATA, a table with a target (csv, tsv, npz, safetensors)");
  check_run(given.run);
  check_rows(given.run);
  if (given.test == "-" && (given.run.train == "-" || given.run.valid == "-"))
    throw Error("standard input can be read only once; store the data of --test in a file");
  given.options.validate();
  check_regressor_applicability(arguments);
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
    if (column.is_numeric)
      numeric.push_back(name);
    else
      categorical.push_back(fmt::format("{} ({} levels)", name, grouped(column.levels.size())));
  }
  const size_t others = tables.frame.columns.size() - tables.targets.size() - encoder.columns().size();
  return fmt::format("inputs: {} numeric columns{}{}; {} categorical{}{}; {} left out", numeric.size(),
                     numeric.empty() ? "" : " ", short_list(numeric), categorical.size(),
                     categorical.empty() ? "" : " ", short_list(categorical), others);
}

// What the finished model is evaluated on.
struct HeldOut {
  std::string name;
  RegressionRows rows;
};

HeldOut held_out_rows(const Regressor& model, const TrainingTables& tables) {
  if (tables.test) return {"test", regression_rows(model, *tables.test, TargetNeed::kRequired)};
  const bool has_valid = !tables.valid.empty();
  return {has_valid ? "validation" : "training",
          regression_rows(model, tables.frame, has_valid ? tables.valid : tables.train)};
}

}  // namespace

int train_regressor_command(const Arguments& arguments) {
  const RegressorArguments& given = arguments.regressor;
  check_options(arguments);
  RunDirectory run = run_directory(arguments);
  if (given.run.resume && run.is_complete()) {
    note(fmt::format("the run in {} is complete; nothing to resume", run.path()));
    return 0;
  }
  const ThreadLimit limit(arguments.common.threads);
  const TrainingTables tables = read_tables(arguments);
  if (given.run.resume) {
    check_same_data(run.path(), "data", tables.record);
    if (!tables.valid_record.is_null()) check_same_data(run.path(), "valid", tables.valid_record);
    if (!tables.test_record.is_null()) check_same_data(run.path(), "test", tables.test_record);
  }
  if (!arguments.common.quiet) {
    for (const std::string& text : tables.notes) note(text);
    note(inputs_text(tables, given.options.module.empty()));
  }
  // While reading a signal ends the process at once: nothing has been made yet.
  catch_interruptions();
  run.begin({{"command", arguments.command},
             {"options", arguments.options},
             {"data", tables.record},
             {"valid", tables.valid_record},
             {"test", tables.test_record}});

  RunObserver observer(run.file(kMetricsName), arguments.common.quiet);
  RegressorResult result = train_regressor(tables.frame, tables.targets, tables.train, tables.valid,
                                           resolved(given.options, tables.targets.size()),
                                           checkpoint_options(given.run, run), observer);
  observer.finish();
  if (result.interrupted) {
    run.keep();
    return stopped(arguments.command, run);
  }
  warn_about_divergence(result.diverged);
  // Nothing that depends on the clock or the machine may enter the model: a resumed run must give the same
  // bytes.
  const HeldOut held_out = held_out_rows(result.model, tables);
  if (tables.test && !arguments.common.quiet)
    for (const std::string& text : encoding_notes(held_out.rows.report))
      note(fmt::format("{}: {}", given.test, text));
  const RegressionEvaluation evaluation =
      evaluate_regressor(result.model, held_out.rows.inputs.view(), held_out.rows.targets(result.model), {});
  nlohmann::ordered_json audit = {{"data", held_out.name}};
  audit.update(regression_json(evaluation, tables.targets));
  result.model.audit_json = audit.dump();
  save_regressor(result.model, run.file(kModelName));
  end_run(run);
  print_report(arguments, run, {result.reason, "adam", result.diverged, result.last, result.model.audit_json},
               {held_out.name, regression_tables({{given.options.objective, tables.targets, evaluation}})});
  return 0;
}

}  // namespace selfnorm::cli
