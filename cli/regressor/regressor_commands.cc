// The options of regressors: how they are trained.
#include "grammar/grammar.h"

namespace selfnorm::cli {
namespace {

OptionTable column_option_table(RegressorArguments& r) {
  OptionTable table;
  table.add("target", &r.target,
            "Columns to be predicted, 1 to 3, by name or number from 0, separated by commas; may be given "
            "several times; default: the column y or target");
  table.add(
      "target-low", &r.target_low,
      "Column of the lower ends of targets that are known to lie in an interval, in the place of --target; "
      "missing: left-censored; the upper ends are in --target-high");
  table.add("drop", &r.ignored, "Columns left out, by name or number from 0, separated by commas");
  table.add("skip-missing-targets", &r.skip_missing_targets,
            "Leave out rows without a target instead of refusing them");
  return table;
}

}  // namespace

void Grammar::declare_regressor_commands() {
  RegressorArguments& regressor = arguments_.regressor;
  Declaration& training =
      command("train regressor",
              "Train a predictive density p(y|x) of 1 to 3 numeric columns given the others, together with "
              "its log-normalizer b(x); evaluate it on held-out rows and write a run directory. "
              "Columns may have missing values, or words, which are categories.");
  training.files(
      "DATA", regressor.run.train,
      "Tables, one or more files: csv, tsv with or without header, JSON lines, gzipped or not; npz, "
      "safetensors with x and y");
  declare_run(training, regressor.run, "DATA",
              "Fraction of the rows of DATA held out for validation when there is no --valid, 0..0.5; auto: "
              "0.1, or 0 for an ensemble with --test, whose members hold out rows of their own");
  OptionTable test;
  test.add("test", &regressor.test, "Rows the finished model is evaluated on, instead of the validation rows")
      .of_kind(OptionKind::file);
  training.options(column_option_table(regressor))
      .options(header_option_table(arguments_.reader))
      .options(test)
      .options(regressor_option_table(regressor.options));
  declare_common(training, arguments_.common, kExpansion | kThreads | kCode | kTrainingDevice);
}

}  // namespace selfnorm::cli
