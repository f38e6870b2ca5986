// The options of regressors: how they are trained, and what is predicted.
#include "grammar/grammar.h"

namespace selfnorm::cli {
namespace {

void declare_columns(Declaration& command, RegressorArguments& regressor, ReaderArguments& reader) {
  command
      .list("--target", regressor.target,
            "Columns to be predicted, 1 to 3, by name or zero-based index, separated by commas; may be given "
            "several times; default: the column y or target")
      .list("--ignore", regressor.ignored, "Columns left out")
      .flag("--skip-missing-targets", regressor.skip_missing_targets,
            "Leave out rows without a target instead of refusing them")
      .choice("--header", reader.header, {"auto", "yes", "no"},
              "csv, tsv: whether the first row names the columns")
      .file("--test", regressor.test,
            "Rows the finished model is evaluated on, instead of the validation rows");
}

}  // namespace

void Grammar::declare_regressor_commands() {
  RegressorArguments& regressor = arguments_.regressor;
  Declaration& training = command(
      "train regressor",
      "Train a predictive density p(y|x) of 1 to 3 numeric columns given the others, together with its "
      "log-normalizer b(x); evaluate it on held-out rows and write a run directory. Missing values and "
      "columns of text are taken as they are.");
  training.positional(
      "DATA", regressor.run.train,
      "A table: csv, tsv with or without header, gzipped or not; npz, safetensors with x and y", false);
  declare_run(training, regressor.run, "DATA",
              "Fraction of the rows of DATA held out for validation when there is no --valid, 0..0.5; auto: "
              "0.1, or 0 "
              "for an ensemble with --test, whose members hold out rows of their own");
  declare_columns(training, regressor, arguments_.reader);
  training.options(regressor_option_table(regressor.options));
  declare_common(training, arguments_.common, kExpansion | kThreads | kCode);

  PredictArguments& predict = arguments_.predict;
  Declaration& prediction = command(
      "predict",
      "Predictive distributions of a regressor, a row each: mean, standard deviation, median, modes, "
      "quantiles, central and highest-density intervals, log-density of the target where DATA have it, "
      "samples, the density on a grid. Levels of a categorical column that training did not have are taken "
      "for the average of those it had; they, missing values and values far outside those of training are "
      "counted on standard error.");
  prediction.positional("MODEL", predict.model, "Model file or run directory of a regressor")
      .positional("DATA", predict.data, "A table with the columns of the model; - is standard input")
      .text("--quantiles", predict.quantiles, "Levels, X,X,..., above 0, below 1; none: no quantiles")
      .text("--intervals", predict.intervals,
            "Masses of central and highest-density intervals, X,X,...; none: no intervals")
      .integer("--samples", predict.samples, "Draws for every row")
      .integer("--grid", predict.grid, "Points of the density for every row; 0, or 2 and more")
      .choice("--log-density", predict.log_density, {"auto", "none", "raw", "exact", "both"},
              "Of the target: raw with b(x), exact by quadrature; auto: exact where DATA have the target")
      .choice("--format", predict.format, {"csv", "json"},
              "csv: several values of a field separated by ';', intervals as FROM:TO; json: an object a line "
              "(--json: one object with all of them)")
      .file("-o", "--out", predict.out, "File to write; default: standard output")
      .list("--ignore", predict.ignored, "Columns of DATA that are not read")
      .choice("--header", arguments_.reader.header, {"auto", "yes", "no"},
              "csv, tsv: whether the first row names the columns")
      .real("--precision", predict.precision, "Error of A(x) by quadrature; 1e-8..0.1")
      .integer("--seed", predict.seed, "Seed of the samples");
  declare_common(prediction, arguments_.common, kExpansion | kThreads | kCode);
}

}  // namespace selfnorm::cli
