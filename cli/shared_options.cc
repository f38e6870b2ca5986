#include "grammar.h"

namespace selfnorm::cli {

void declare_threads(Declaration& command, CommonArguments& common) {
  command.integer("--threads", common.threads,
                  "Threads to use; 0 takes all cores. Results do not depend on it");
}

void declare_output(Declaration& command, CommonArguments& common) {
  command.flag("--json", common.json, "Print one JSON object on standard output and nothing else there")
      .flag("--quiet", common.quiet, "No progress and no notes on standard error")
      .file("--config", common.config, "TOML file with option values; the command line wins over it");
}

void declare_reader(Declaration& command, ReaderArguments& reader) {
  ReadOptions& o = reader.options;
  command
      .choice("--format", reader.format,
              {"auto", "svmlight", "csv", "tsv", "npy", "npz", "text", "idx", "safetensors"},
              "Format of the data; auto looks at content and extension")
      .text("--target", o.target, "csv, tsv: the label column, by name or zero-based index")
      .choice("--header", reader.header, {"auto", "yes", "no"},
              "csv, tsv: whether the first row names the columns")
      .text("--weight-column", o.weight_column,
            "csv, tsv: column of example weights, by name or zero-based index")
      .file("--labels", o.labels_path, "npy, npz, safetensors, idx: file with the labels")
      .integer("--skip-bad", o.skip_bad, "Leave out up to N bad rows and report them");
}

void declare_head(Declaration& command, HeadNames& head) {
  command
      .text("--weight-name", head.weight,
            "Softmax head: its weight tensor, K x d; default weight, W, lm_head.weight or the only matrix")
      .text("--bias-name", head.bias, "Softmax head: its bias tensor, K; default bias, b or as the weight");
}

void declare_training(Declaration& command, Arguments& arguments) {
  TrainOptions& o = arguments.train.options;
  ObjectiveOptions& objective = o.objective;
  TextOptions& text = arguments.reader.options.text;
  command
      .choice(
          "--objective", objective.name,
          {"exact", "penalty", "constraint", "sampled", "nce", "ranking-nce", "is", "snl"},
          "exact: -log p; penalty: -log p + alpha (log Z - c)^2; constraint: rms log Z <= delta; "
          "sampled: the penalty on a fraction gamma of each minibatch, the likelihood from raw scores; "
          "nce, ranking-nce, is, snl: against noise classes, at a cost that does not grow with the classes")
      .real("--alpha", objective.alpha, "penalty, sampled: weight of (log Z - c)^2; >= 0")
      .real("--delta", objective.delta, "constraint: bound of rms(log Z - c) on the training data; > 0")
      .real("--gamma", objective.gamma, "sampled: fraction of each minibatch that is normalised; 0..1")
      .text("--centre", arguments.train.centre,
            "penalty, constraint: c, the value log Z is drawn to, a number; auto: 0, calibrated or learned")
      .flag("--learn-centre", objective.learn_centre,
            "penalty, constraint: c is learned, stored and subtracted")
      .integer("--samples", objective.samples,
               "nce, ranking-nce, is, snl: noise classes of a minibatch, shared by its examples; >= 1")
      .choice("--noise", objective.noise, {"uniform", "unigram", "log-uniform"},
              "nce, ranking-nce, is, snl: what noise classes are drawn from; unigram: (count + 1)^beta; "
              "log-uniform: by the rank of the count")
      .real("--noise-power", objective.noise_power, "--noise unigram: beta; 0..1")
      .choice(
          "--normalizer", objective.normalizer, {"zero", "constant"},
          "nce, snl: b that log Z is drawn to; zero, or a constant that is learned, stored and subtracted")
      .real("--l2", o.l2, "Adds l2/2 |W|^2 to the mean loss; biases are free; >= 0")
      .real("--l1", o.l1, "Adds l1 |W|_1 to the mean loss; biases are free; >= 0")
      .choice("--optimiser", o.optimiser, {"auto", "lbfgs", "adagrad", "adam"},
              "auto: lbfgs when the data allow it")
      .integer("--iterations", o.iterations, "lbfgs: iterations at most; >= 1")
      .real("--tolerance", o.tolerance,
            "lbfgs: stop when |gradient| <= tolerance times that of the start; > 0")
      .integer("--history", o.history, "lbfgs: correction pairs; 1..100")
      .integer("--epochs", o.epochs, "adagrad, adam: passes over the data; >= 1")
      .integer("--batch", o.batch, "adagrad, adam: examples per step; >= 1")
      .real("--learning-rate", o.learning_rate,
            "adagrad, adam: step size; 0 takes 2 (adam: 0.1) over the rms norm of x")
      .choice("--schedule", o.schedule, {"constant", "linear", "cosine", "inverse-sqrt"},
              "adagrad, adam: how the step size falls")
      .integer("--patience", o.patience,
               "Validation checks without improvement before stopping; 0 never stops early")
      .flag("--no-calibrate", arguments.train.no_calibrate,
            "penalty, sampled, nce, snl: keep c or b as trained; otherwise it is the mean of log Z on the "
            "validation data")
      .choice("--scale", o.scale, {"auto", "standard", "none"},
              "Dense data: standardise the features for training; the model takes them as they are")
      .choice("--precision", o.precision, {"float", "double"}, "Arithmetic of scores and gradients")
      .choice("--weights", o.weights, {"float32", "bfloat16", "int8"},
              "How the model file stores the weights")
      .text("--class-weight", o.class_weight, "'balanced', or 'label=2.5,other=0.5'")
      .file("--carrier", arguments.train.carrier,
            "Fixed log h(k): lines 'label<TAB>number', or one number per class in the order of the labels")
      .file("--weight-file", arguments.train.weight_file, "One weight per example, a number a line")
      .integer("--ngrams", text.ngrams, "text: longest word n-gram; 1..8")
      .integer("--min-count", text.min_count, "text: keep n-grams in at least N texts; >= 1")
      .integer("--max-vocabulary", text.max_vocabulary,
               "text: keep at most the N most frequent n-grams; 0 keeps all")
      .integer("--hash-buckets", text.hash_buckets,
               "text: hash n-grams into N features; 0 keeps a vocabulary")
      .flag("--no-tf-idf", arguments.reader.no_tf_idf, "text: counts instead of tf-idf")
      .flag("--keep-case", arguments.reader.keep_case, "text: do not lower the case of letters");
}

}  // namespace selfnorm::cli
