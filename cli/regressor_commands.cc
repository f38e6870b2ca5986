// The options of regressors: how they are trained, and what is predicted.
#include "grammar.h"

namespace selfnorm::cli {
namespace {

void declare_columns(Declaration& command, RegressorArguments& regressor, ReaderArguments& reader) {
  command
      .list("--target", regressor.target,
            "Columns to be predicted, 1 to 3, by name or zero-based index, separated by commas; may be given "
            "several times; default: the column y or target")
      .list("--categorical", regressor.categorical, "Columns of levels that look like numbers")
      .list("--ignore", regressor.ignored, "Columns left out")
      .flag("--skip-missing-targets", regressor.skip_missing_targets,
            "Leave out rows without a target instead of refusing them")
      .choice("--header", reader.header, {"auto", "yes", "no"},
              "csv, tsv: whether the first row names the columns")
      .file("--test", regressor.test,
            "Rows the finished model is evaluated on, instead of the validation rows")
      .text("--lower", regressor.lower,
            "Lower end of the support of the target: a number, or one a target, X,X,...; -inf: no end")
      .text("--upper", regressor.upper, "Upper end of the support; inf: no end")
      .real("--noise-floor", regressor.options.noise_floor,
            "Standard deviation, in the units of the target, of noise added to it in training; bounds the "
            "likelihood where values repeat; >= 0");
}

void declare_regressor_networks(Declaration& command, RegressorArguments& regressor) {
  RegressorOptions& o = regressor.options;
  command
      .text("--features", regressor.features,
            "Widths of the feature network of x, N,N,...; none: linear in x")
      .text("--joint", regressor.joint, "Widths of the score network of x and y")
      .text("--normalizer", regressor.normalizer, "Hidden widths of b(x); none: linear in the features")
      .choice("--activation", o.activation, {"silu", "relu", "tanh", "softplus", "gelu"},
              "The function of the layers")
      .flag("--own-features", o.own_features, "The score network has features of its own")
      .file("--module", o.module, "TorchScript module FILE.pt, from numeric columns to features")
      .integer("--components", o.components, "Components of the mixture q(y|x); 1..256")
      .flag("--shared-scale", o.shared_scale, "The scales of the mixture do not depend on x")
      .choice("--base", o.base, {"proposal", "broad"},
              "What the score network tilts: q(y|x), or a broad density alone")
      .real("--tail-weight", o.tail_weight,
            "Weight of a broad density, as wide as the data, in the base, of mdn too: costs little where a "
            "target is far "
            "from all predictions, and widens sd and the outermost percent of the quantiles; 0 or more, "
            "below 1")
      .real("--least-scale", o.least_scale,
            "Smallest standard deviation of a component, in those of the target; > 0")
      .integer("--ensemble", o.ensemble, "Members, whose densities are averaged; 1..100");
}

void declare_regressor_objective(Declaration& command, RegressorArguments& regressor) {
  RegressorOptions& o = regressor.options;
  command
      .choice("--objective", o.objective, regressor_objective_names(),
              "snl: a lower bound of the likelihood, equal to it at b(x) = A(x); is, nce, ranking-nce: "
              "against draws of the proposal; nce+, kld-is: nce and is with a jittered target; mcmc: "
              "Langevin chains from the target; sm, dsm: score matching; mdn: the proposal alone")
      .integer("--samples", o.samples, "Draws of the proposal for every row; 1..1e5")
      .real("--defence", o.defence, "Weight of the broad component in the proposal; above 0, below 1")
      .choice("--learn-proposal", o.learn_proposal, {"data", "kl", "both"},
              "The proposal is learned by the likelihood of the data, the divergence from the model, or both")
      .integer("--langevin-steps", o.langevin_steps, "mcmc: steps of a chain; >= 1")
      .real("--langevin-step", o.langevin_step,
            "mcmc: standard deviation of a step's noise, in those of the target; > 0")
      .real("--noise", o.noise,
            "dsm, nce+, kld-is: standard deviation of the jitter, in those of the target; > 0")
      .flag("--no-calibrate", regressor.no_calibrate,
            "Keep b(x) as trained; otherwise it is fitted at the end to exact A(x) of training rows");
}

void declare_regressor_steps(Declaration& command, RegressorOptions& o) {
  command.integer("--epochs", o.epochs, "Passes over the rows; 0: by the number of rows")
      .integer("--batch", o.batch, "Rows per step; 0: by the number of rows")
      .real("--warm-up", o.warm_up, "Share of the epochs in which the mixture is trained alone; below 1")
      .real("--learning-rate", o.learning_rate, "Step size of Adam; > 0")
      .integer("--ramp", o.ramp, "Steps in which the step size rises to that")
      .real("--input-noise", o.input_noise,
            "Standard deviation of noise added to the standardised numbers of x in training; >= 0")
      .real("--normalizer-rate", o.normalizer_rate, "Learning rate of b(x) over that; > 0")
      .choice("--schedule", o.schedule, {"constant", "linear", "cosine", "inverse-sqrt"},
              "How the step size falls")
      .real("--weight-decay", o.weight_decay,
            "Every step multiplies the parameters by 1 - rate times this; >= 0")
      .real("--average", o.average,
            "Decay of the moving average of the parameters, which is what is kept; 0 or more, below 1")
      .real("--clip", o.clip, "Largest norm of the gradient; > 0")
      .integer("--checks", o.checks, "Validations in a run; >= 1")
      .integer("--patience", o.patience, "Checks without improvement before stopping; 0 never stops early");
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
  declare_run(training, regressor.run, regressor.options.seed,
              {.data = "DATA",
               .hold_out = "Fraction of the rows of DATA held out for validation when there is no --valid, "
                           "0..0.5; auto: 0.1, or 0 for an ensemble with --test, whose members hold out "
                           "rows of their own",
               .objectives = {}});
  declare_columns(training, regressor, arguments_.reader);
  declare_regressor_objective(training, regressor);
  declare_regressor_networks(training, regressor);
  declare_regressor_steps(training, regressor.options);
  declare_expansion(training, arguments_.common);
  declare_threads(training, arguments_.common);
  declare_code(training, arguments_.common);
  declare_output(training, arguments_.common);

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
  declare_expansion(prediction, arguments_.common);
  declare_threads(prediction, arguments_.common);
  declare_code(prediction, arguments_.common);
  declare_output(prediction, arguments_.common);
}

}  // namespace selfnorm::cli
