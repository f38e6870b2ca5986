// The options of CRFs: how they are trained, and what is tagged.
#include "crf_model.h"
#include "grammar.h"

namespace selfnorm::cli {
namespace {

void declare_sentences(Declaration& command, CrfArguments& crf) {
  command
      .choice("--format", crf.format, sequence_format_names(),
              "columns: a token a line, a blank line between sentences; conllu; attributes: label TAB "
              "attribute[:value] ..., as of CRFsuite; auto looks at the content")
      .integer("--target", crf.target,
               "Column of the labels, counted from 1; 0: the last one, of CoNLL-U 4 (UPOS)")
      .file("--template", crf.template_file,
            "Feature templates as of CRF++ and wapiti (U00:%x[-1,0], B), with prefixes %p, suffixes %s, "
            "lower case %l, shapes %h and regular expressions %m, %t; default: good ones for tagging, or for "
            "chunking where there are several input columns")
      .integer("--min-count", crf.min_count, "Keep attributes seen at least N times in TRAIN; >= 1");
}

void declare_crf_objective(Declaration& command, CrfArguments& crf) {
  ObjectiveOptions& o = crf.options.objective;
  command
      .choice("--objective", o.name, {"exact", "penalty", "constraint", "sampled"},
              "exact: -log p; penalty: -log p + alpha (log Z)^2 of a sentence; constraint: rms log Z <= "
              "delta; sampled: the penalty on a fraction gamma of each minibatch, the likelihood from raw "
              "scores")
      .real("--alpha", o.alpha, "penalty, sampled: weight of (log Z)^2; >= 0")
      .real("--delta", o.delta, "constraint: bound of rms log Z of a sentence on the training data; > 0")
      .real("--gamma", o.gamma, "sampled: fraction of each minibatch that is normalised; 0..1")
      .flag("--no-calibrate", crf.no_calibrate,
            "penalty, sampled: keep the parameters as trained; otherwise the level of log Z, a constant a "
            "sentence and one a token, on the validation data is taken out of them, which leaves "
            "probabilities as they are");
}

void declare_crf_steps(Declaration& command, ChainOptions& o) {
  command.real("--l2", o.l2, "Adds l2/2 |theta|^2 to the mean loss of a sentence; biases are free; >= 0")
      .real("--l1", o.l1, "Adds l1 |theta|_1 to the mean loss of a sentence; biases are free; >= 0")
      .choice("--optimiser", o.optimiser, {"auto", "lbfgs", "adagrad"}, "auto: lbfgs when the data allow it")
      .integer("--iterations", o.iterations, "lbfgs: iterations at most; >= 1")
      .real("--tolerance", o.tolerance,
            "lbfgs: stop when |gradient| <= tolerance times that of the start; > 0")
      .integer("--history", o.history, "lbfgs: correction pairs; 1..100")
      .integer("--epochs", o.epochs, "adagrad: passes over the data; >= 1")
      .integer("--batch", o.batch, "adagrad: sentences per step; >= 1")
      .real("--learning-rate", o.learning_rate,
            "adagrad: step size; 0: 1 over the rms norm of the attributes of a token")
      .integer("--patience", o.patience,
               "Validation checks without improvement before stopping; 0 never stops early");
}

}  // namespace

void Grammar::declare_crf_commands() {
  CrfArguments& crf = arguments_.crf;
  Declaration& training = command(
      "train crf",
      "Train a linear-chain conditional random field for tagging, chunking or entities, whose raw score of a "
      "labelling is its log-probability; evaluate it on held-out sentences and write a run directory. No "
      "option is needed.");
  training.positional("TRAIN", crf.run.train,
                      "Labelled sentences: columns, CoNLL-U or attributes, plain or gzipped; - is standard "
                      "input",
                      false);
  declare_run(training, crf.run, crf.options.seed,
              {.data = "TRAIN",
               .hold_out = "Fraction of the sentences of TRAIN held out for validation when there is no "
                           "--valid, 0..0.5; auto: 0.1, or 0 for the constraint, whose bound is about all "
                           "of TRAIN",
               .objectives = {}});
  declare_sentences(training, crf);
  declare_crf_objective(training, crf);
  declare_crf_steps(training, crf.options);
  declare_expansion(training, arguments_.common);
  declare_threads(training, arguments_.common);
  declare_output(training, arguments_.common);

  TagArguments& tag = arguments_.tag;
  Declaration& tagging = command(
      "tag",
      "Label sentences with a chain, one after the other as they are read: the columns of every token and "
      "its label after them (where the labels of the training data are, if DATA have none), separated by "
      "tabs, and a blank line after a sentence. Attributes are written with the label in the first field, "
      "CoNLL-U as CoNLL-U with the label in the target column; all else is as it was, byte for byte, but for "
      "what tag itself wrote before, which is replaced.");
  tagging.positional("MODEL", tag.model, "Model file or run directory of 'train crf'")
      .positional("DATA", tag.data,
                  "Sentences as those the model was trained on, with or without labels, which are not looked "
                  "at; a line of attributes without a label begins with a tab; plain or gzipped; default: "
                  "standard input",
                  false)
      .choice("--format", tag.format, sequence_format_names(),
              "Format of DATA; auto: that of the data the model was trained on. columns for a model of "
              "CoNLL-U: a word a line, where its templates read the form alone")
      .choice("--decode", tag.decode, {"viterbi", "posterior", "sample"},
              "viterbi: the most probable labelling; posterior: the most probable label of every token; "
              "sample: a labelling drawn from p(y|x), exactly")
      .integer("--n-best", tag.n_best,
               "viterbi: the N most probable labellings, sample: N independent ones, each after a line "
               "\"# sentence=I rank=R\", which score, evaluate and tag know in every format; 1..1000")
      .integer("--seed", tag.seed, "sample: the same draws for the same seed")
      .choice("--score", tag.score, {"none", "raw", "exact"},
              "log-probability of a labelling, in a line \"# sentence=I rank=R log_prob=X kind=KIND\" before "
              "it; raw: its score alone, less b(x) where the model has one (kind amortised); exact: "
              "normalised by log Z")
      .flag("--marginals", tag.marginals,
            "A further column: the probability of the token's label; of CoNLL-U p=PROBABILITY in MISC")
      .flag("--all-marginals", tag.all_marginals,
            "Further columns: LABEL:PROBABILITY of every label of the model; of CoNLL-U "
            "p[LABEL]=PROBABILITY in MISC");
  declare_expansion(tagging, arguments_.common);
  declare_threads(tagging, arguments_.common);
  declare_output(tagging, arguments_.common);
}

}  // namespace selfnorm::cli
