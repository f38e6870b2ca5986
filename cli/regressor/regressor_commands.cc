// The options of regressors: how they are trained, and what is predicted.
#include "grammar/grammar.h"

namespace selfnorm::cli {
namespace {

OptionTable column_option_table(RegressorArguments& r) {
  OptionTable table;
  table.add("target", &r.target,
            "Columns to be predicted, 1 to 3, by name or zero-based index, separated by commas; may be given "
            "several times; default: the column y or target");
  table.add(
      "target-low", &r.target_low,
      "Column of the lower ends of targets that are known to lie in an interval, in the place of --target; "
      "missing: left-censored; the upper ends are in --target-high");
  table.add("ignore", &r.ignored, "Columns left out");
  table.add("skip-missing-targets", &r.skip_missing_targets,
            "Leave out rows without a target instead of refusing them");
  return table;
}

OptionTable output_option_table(PredictArguments& p) {
  OptionTable table;
  table
      .add("log-density", &p.log_density,
           "Of the target: raw with b(x), exact by quadrature; auto: exact where DATA have the target")
      .one_of({"auto", "none", "raw", "exact", "both"});
  table
      .add("format", &p.format,
           "csv: several values of a field separated by ';', intervals as FROM:TO; json: an object a line "
           "(--json: one object with all of them)")
      .one_of({"csv", "json"});
  table.add("out", &p.out, "File to write; default: standard output")
      .of_kind(OptionKind::file)
      .short_form("-o");
  table.add("ignore", &p.ignored, "Columns of DATA that are not read");
  return table;
}

}  // namespace

void Grammar::declare_regressor_commands() {
  RegressorArguments& regressor = arguments_.regressor;
  Declaration& training =
      command("train regressor",
              "Train a predictive density p(y|x) of 1 to 3 numeric columns given the others, together with "
              "its log-normalizer b(x); evaluate it on held-out rows and write a run directory. Missing "
              "values and columns of text are taken as they are.");
  training.positional(
      "DATA", regressor.run.train,
      "A table: csv, tsv with or without header, gzipped or not; npz, safetensors with x and y", false);
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
  declare_common(training, arguments_.common, kExpansion | kThreads | kCode);

  PredictArguments& predict = arguments_.predict;
  const OptionTable predicted = prediction_option_table(predict.options);
  Declaration& prediction =
      command("predict",
              "Predictive distributions of a regressor, a row each: mean, standard deviation, median, modes, "
              "quantiles, central and highest-density intervals, survival functions, log-density of the "
              "target where DATA have "
              "it, samples, the density on a grid. Levels of a categorical column that training did not have "
              "are taken for the average of those it had; they, missing values and values far outside those "
              "of training are counted on standard error.");
  prediction.positional("MODEL", predict.model, "Model file or run directory of a regressor")
      .positional("DATA", predict.data, "A table with the columns of the model; - is standard input")
      .options(predicted, {"quantiles", "intervals", "survival", "samples", "grid"})
      .options(output_option_table(predict))
      .options(header_option_table(arguments_.reader))
      .options(predicted, {"precision", "seed"});
  declare_common(prediction, arguments_.common, kExpansion | kThreads | kCode);
}

}  // namespace selfnorm::cli
