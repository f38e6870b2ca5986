#include "grammar/grammar.h"

namespace selfnorm::cli {

void Grammar::declare_normalizing_commands() {
  NormalizeArguments& n = arguments_.normalize;
  Declaration& normalization =
      command("normalize",
              "Self-normalise an existing model or softmax head: without changing what it predicts; with "
              "--delta or --budget, at "
              "a stated price; with --amortise, by a cheap estimate of log Z that is stored with it.");
  normalization.positional("HEAD", n.head, "Model file, run directory, or softmax head (.safetensors, .npz)")
      .file("--states", n.states,
            "Hidden states (.npy, .npz, .safetensors) or data of the model, with or without labels; default: "
            "the training data of a run directory, or an array in HEAD itself")
      .text("--states-name", n.states_name, "npz, safetensors: the array that holds the states")
      .file("-o", "--out", n.out, "File to write; default HEAD-normalized")
      .real("--hold-out", n.hold_out, "Fraction of the states that only verifies; above 0, at most 0.5")
      .real("--delta", n.delta, "Retrain the head until rms log Z <= delta; 0: do not")
      .real("--budget", n.budget, "Retrain the head for at most so many nats of likelihood; 0: do not")
      .choice("--targets", n.targets, {"auto", "labels", "teacher"},
              "Retraining: to labels, or to the head's own distribution; auto: labels where there are any")
      .choice("--amortise", n.amortise, {"none", "linear", "mlp"},
              "Fit b(h) to what is left of log Z and store it; 'score' then subtracts it. Of chains: linear, "
              "b(x) "
              "of log Z as it is, instead of the lossless step: no weight changes")
      .integer("--hidden", n.hidden, "--amortise mlp: hidden units; >= 1")
      .integer("--seed", n.seed, "Seed of everything random");
  declare_head(normalization, arguments_.head);
  declare_any_reader(normalization, arguments_.reader);
  declare_common(normalization, arguments_.common, kExpansion | kThreads);

  AuditArguments& a = arguments_.audit;
  Declaration& auditing = command("audit",
                                  "How far scores can be trusted as log-probabilities: the exact log Z of "
                                  "held-out inputs, what it does to "
                                  "likelihood and calibration, and a distribution-free certificate.");
  auditing.positional("MODEL", a.model, "Model file, run directory or softmax head")
      .positional("DATA", a.data,
                  "Held-out inputs, with or without labels: data of the model, or hidden states")
      .text("--states-name", a.states_name, "npz, safetensors: the array that holds the states")
      .real("--eps", a.options.eps, "Certify |log Z - c| <= eps; > 0")
      .real("--rho", a.options.rho, "... for all but this fraction of inputs; 0..1")
      .real("--confidence", a.options.confidence, "... with this confidence; 0..1")
      .text("--require", a.require, "'eps=0.1,rho=0.01,conf=0.99': exit 3 unless certified")
      .flag("--raw", a.raw, "Audit raw scores also where the model has an amortised normalizer")
      .integer("--bins", a.options.bins, "Bins of the histogram; >= 1")
      .integer("--worst", a.options.worst, "List the N inputs with the largest |log Z - c|")
      .file("--report", a.report,
            "Page to write, with its data beside it; default: report.html in the run directory of MODEL, or "
            "here")
      .flag("--no-report", a.no_report, "Do not write the page");
  declare_head(auditing, arguments_.head);
  declare_any_reader(auditing, arguments_.reader);
  declare_common(auditing, arguments_.common, kExpansion | kThreads | kCode);
}

}  // namespace selfnorm::cli
