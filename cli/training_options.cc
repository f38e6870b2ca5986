#include <algorithm>

#include "grammar.h"
#include "selfnorm/proposal/proposal.h"

namespace selfnorm::cli {

TrainOptions language_defaults() {
  TrainOptions o;
  o.objective.name = "snl";
  o.objective.samples = 200;
  o.encoder.kind = "context";
  o.encoder.dimension = 64;
  o.encoder.hidden = 128;
  o.l2 = 0;
  o.epochs = 5;
  o.batch = 512;
  o.patience = 2;
  return o;
}

void declare_run(Declaration& command, RunArguments& run, uint64_t& seed, const TrainingWords& words) {
  command.file("--valid", run.valid, "Validation data; without it a part of " + words.data + " is held out")
      .text("--hold-out", run.hold_out, words.hold_out)
      .option("--out", run.out,
              "Run directory; default out/<" + words.data + ">-<objective>, numbered when taken",
              ValueKind::kDirectory)
      .flag("--resume", run.resume,
            "Continue the interrupted run in --out (" + words.data + " and options come from its record)")
      .flag("--overwrite", run.overwrite, "Replace a run that is already in --out")
      .real("--checkpoint-seconds", run.checkpoint_seconds, "Seconds between checkpoints; 0 after every step")
      .flag("--no-report", run.no_report, "Do not write report.html, the page of the run")
      .flag("--force", run.force,
            "Train although the data look like a mistake, or need more memory or disk than there is")
      .integer("--seed", seed, "Seed of everything random");
}

void declare_objective(Declaration& command, TrainArguments& train, const TrainingWords& words) {
  ObjectiveOptions& o = train.options.objective;
  const bool has_constraint =
      std::find(words.objectives.begin(), words.objectives.end(), "constraint") != words.objectives.end();
  const std::string constraint = has_constraint ? "constraint: rms log Z <= delta; " : "";
  command
      .choice(
          "--objective", o.name, words.objectives,
          "exact: -log p; penalty: -log p + alpha (log Z - c)^2; " + constraint +
              "sampled: the penalty on a fraction gamma of each minibatch, the likelihood from raw scores; "
              "nce, ranking-nce, is, snl: against noise classes, at a cost that does not grow with the "
              "classes; hierarchical: a tree of decisions, with an encoder")
      .real("--alpha", o.alpha, "penalty, sampled: weight of (log Z - c)^2; >= 0")
      .real("--gamma", o.gamma, "sampled: fraction of each minibatch that is normalised; 0..1")
      .text("--centre", train.centre,
            "penalty, constraint: c, the value log Z is drawn to, a number; auto: 0, calibrated or learned")
      .flag("--learn-centre", o.learn_centre, "penalty, constraint: c is learned, stored and subtracted")
      .integer("--samples", o.samples, "nce, ranking-nce, is, snl: noise classes of a draw; >= 1")
      .choice("--noise", o.noise, noise_names(),
              "nce, ranking-nce, is, snl: what noise classes are drawn from; unigram: (count + 1)^beta; "
              "log-uniform: by the rank of the count; in-batch: the other targets of the minibatch")
      .real("--noise-power", o.noise_power, "--noise unigram: beta; 0..1")
      .choice("--noise-sharing", o.noise_sharing, {"batch", "example"},
              "One draw for all examples of a minibatch, or one for each")
      .choice("--normalizer", o.normalizer, {"zero", "constant", "linear", "mlp"},
              "nce, snl: b that log Z is drawn to; zero, or learned and stored: a constant, or a linear "
              "function or a small network of the state")
      .integer("--normalizer-hidden", o.normalizer_hidden, "--normalizer mlp: hidden units; 1..4096")
      .flag("--no-calibrate", train.no_calibrate,
            "penalty, sampled, nce, ranking-nce, is, snl: keep c or b as trained; otherwise it is the mean "
            "of log Z on the "
            "validation data");
}

void declare_network(Declaration& command, TrainArguments& train) {
  EncoderOptions& o = train.options.encoder;
  command.integer("--dimension", o.dimension, "Encoder: size of an embedding; 1..4096")
      .integer("--hidden", o.hidden, "Encoder: units of the hidden layer; 0: none, at most 4096")
      .real("--dropout", o.dropout, "Encoder: share of the inputs of every layer left out in training; 0..1")
      .file("--embeddings", o.embeddings,
            "Encoder: embeddings to start from, in the text format of word2vec and fastText; words it lacks "
            "start at random");
}

void declare_steps(Declaration& command, TrainArguments& train) {
  TrainOptions& o = train.options;
  command
      .real("--l2", o.l2,
            "Adds l2/2 |W|^2 to the mean loss; with an encoder every step multiplies weights and embeddings "
            "by 1 - "
            "rate l2; biases are free; >= 0")
      .integer("--epochs", o.epochs, "Minibatches: passes over the data; >= 1")
      .integer("--batch", o.batch, "Minibatches: examples per step; >= 1")
      .real("--learning-rate", o.learning_rate,
            "Minibatches: step size; 0 takes one that fits the objective and the encoder (a linear model: 2, "
            "adam: 0.1, over the rms norm of x)")
      .choice("--schedule", o.schedule, {"constant", "linear", "cosine", "inverse-sqrt"},
              "Minibatches: how the step size falls")
      .integer("--patience", o.patience,
               "Validation checks without improvement before stopping; 0 never stops early")
      .choice("--weights", o.weights, {"float32", "bfloat16", "int8"},
              "How the model file stores the weights");
}

void declare_linear(Declaration& command, TrainArguments& train) {
  TrainOptions& o = train.options;
  command
      .choice(
          "--encoder", o.encoder.kind, {"auto", "identity", "sparse", "bag"},
          "bag: the mean of embeddings of the sparse features or words, and a hidden layer with --hidden; "
          "identity, sparse: none, of dense or sparse data; auto: none")
      .real("--delta", o.objective.delta, "constraint: bound of rms(log Z - c) on the training data; > 0")
      .real("--l1", o.l1, "Adds l1 |W|_1 to the mean loss; biases are free; >= 0")
      .choice("--optimiser", o.optimiser, {"auto", "lbfgs", "adagrad", "adam"},
              "auto: lbfgs when the data allow it")
      .integer("--iterations", o.iterations, "lbfgs: iterations at most; >= 1")
      .real("--tolerance", o.tolerance,
            "lbfgs: stop when |gradient| <= tolerance times that of the start; > 0")
      .integer("--history", o.history, "lbfgs: correction pairs; 1..100")
      .choice("--scale", o.scale, {"auto", "standard", "none"},
              "Dense data: standardise the features for training; the model takes them as they are")
      .choice("--precision", o.precision, {"float", "double"}, "Arithmetic of scores and gradients")
      .text("--class-weight", o.class_weight, "'balanced', or 'label=2.5,other=0.5'")
      .file("--carrier", train.carrier,
            "Fixed log h(k): lines 'label<TAB>number', or one number per class in the order of the labels")
      .file("--weight-file", train.weight_file, "One weight per example, a number a line");
}

void declare_text(Declaration& command, ReaderArguments& reader) {
  TextOptions& text = reader.options.text;
  command.integer("--ngrams", text.ngrams, "text: longest word n-gram; 1..8")
      .integer("--char-ngrams-min", text.char_ngrams_min,
               "text: shortest character n-gram of a word; 1..12, 0: none")
      .integer("--char-ngrams-max", text.char_ngrams_max, "text: longest character n-gram; 1..12, 0: none")
      .integer("--min-count", text.min_count, "text: keep n-grams in at least N texts; >= 1")
      .integer("--max-vocabulary", text.max_vocabulary,
               "text: keep at most the N most frequent n-grams; 0 keeps all")
      .integer("--hash-buckets", text.hash_buckets,
               "text: hash n-grams into N features; 0 keeps a vocabulary")
      .flag("--no-tf-idf", reader.no_tf_idf, "text: counts instead of tf-idf")
      .flag("--keep-case", reader.keep_case, "text: do not lower the case of letters");
}

}  // namespace selfnorm::cli
