// The commands that take a model of any family.
#include "grammar/grammar.h"

namespace selfnorm::cli {
namespace {

OptionTable evaluate_option_table(EvaluateArguments& e) {
  OptionTable table;
  table
      .add("timing", &e.timing,
           "Also time the scoring of one candidate, raw and exact, in nanoseconds; of a CRF, of one "
           "labelling, for each sentence and token; of a language model, in words per second")
      .of("classifier,lm,crf");
  table.add("limit", &e.limit, "Language models: evaluate N tokens of DATA, chosen at random; 0: all")
      .of("lm");
  table
      .add("draw", &e.draw,
           "Regressors: folder for pictures (SVG, with their data as CSV): PIT, coverage, b against A, fan "
           "chart")
      .of_kind(OptionKind::directory)
      .of("regressor");
  table
      .add("feature", &e.feature,
           "Regressors: numeric column along which quantiles and a heat map of the density are drawn too")
      .of("regressor");
  return table;
}

OptionTable score_option_table(ScoreArguments& s) {
  OptionTable table;
  table.add("candidates", &s.candidates, "Labels, separated by commas, quoted as in CSV").of("classifier");
  table.add("candidates-file", &s.candidates_file, "Labels, one a line")
      .of_kind(OptionKind::file)
      .of("classifier");
  table.add("top", &s.top, "The N best labels of each row").of("classifier");
  table.add("raw", &s.raw,
            "Raw scores, which are log-probabilities as far as log Z is constant; of a density and a "
            "regressor: with b");
  table.add("amortised", &s.amortised, "Scores less b(x), of a model that has one");
  table.add("exact", &s.exact, "Normalise exactly, with any number of classes");
  table.add("rung", &s.rung, "This rung of the model's ladder, by its name; 'selfnorm info' lists them")
      .of("classifier,lm,crf,regressor");
  table.add("totals", &s.totals, "Language models: only the total of each sentence").of("lm");
  return table;
}

OptionTable answer_option_table(PredictArguments& p) {
  OptionTable table;
  table
      .add("top", &p.top,
           "Classifiers: the N most probable labels (1); language models: next words (5); densities: only "
           "the N most unusual rows, the most unusual first; 0: as many as in brackets, or all")
      .of("classifier,lm,density");
  table.add("keep", &p.keep, "Columns of the table DATA that are carried along, by name, separated by commas")
      .of("classifier,regressor,density");
  table
      .add("output-format", &p.output_format,
           "table: for people; csv: one column for each number; json: an object a line (--json: one object "
           "with all of them); auto: a table on a terminal, otherwise csv")
      .one_of({"auto", "table", "csv", "json"});
  table.add("out", &p.out, "File to write; default: standard output")
      .of_kind(OptionKind::file)
      .short_form("-o");
  return table;
}

OptionTable word_option_table(PredictArguments& p) {
  OptionTable table;
  table.add("candidates", &p.candidates, "Language models: these next words, separated by commas, instead");
  table
      .add("complete", &p.complete,
           "Language models: continue the text by up to N words, to the end of the sentence")
      .at_least(0);
  table
      .add("temperature", &p.temperature,
           "--complete: draw words from p^(1/T); 0: take the most probable one each time")
      .in(0, 100);
  return std::move(table.of("lm"));
}

OptionTable log_density_option_table(PredictArguments& p) {
  OptionTable table;
  table
      .add("log-density", &p.log_density,
           "Regressors: log-density of the target, raw with b(x) or exact by quadrature; auto: exact where "
           "DATA have the target")
      .one_of({"auto", "none", "raw", "exact", "both"});
  return std::move(table.of("regressor"));
}

OptionTable bounds_option_table(BoundsArguments& b) {
  OptionTable table;
  table.add("delta", &b.delta, "Bound of rms(log Z - m)").above(0);
  return table;
}

OptionTable precision_option_table(LadderArguments& l) {
  OptionTable table;
  table
      .add("within", &l.asked,
           "How far log-probabilities may be off: the cheapest rung of the model's ladder that is certified "
           "for this is taken, and exact where there is none; 0: what the ladder was fitted for, 0.1 unless "
           "'train' or 'normalize' was told otherwise")
      .at_least(0)
      .of("classifier,lm");
  return table;
}

OptionTable served_option_table(LadderArguments& l) {
  return precision_option_table(l).of("classifier,lm,crf,regressor");
}

OptionTable ladder_option_table(LadderArguments& l) {
  OptionTable table;
  table
      .add("within", &l.within,
           "Fit the ladder of log-normalizers and keep the cheapest rung that is certified to be off by at "
           "most this; exit "
           "3 when none but exact is")
      .above(0)
      .of("classifier,lm");
  table.add("rho", &l.rho, "--within: ... for all but this fraction of inputs")
      .above(0)
      .below(1)
      .of("classifier,lm");
  table.add("conf", &l.confidence, "--within: ... with this confidence")
      .above(0)
      .below(1)
      .of("classifier,lm");
  table
      .add("max-cost", &l.max_cost,
           "Instead of --within: the most precise rung that takes at most so many dot products; 0: by "
           "--within")
      .at_least(0)
      .of("classifier,lm");
  table.add("keep", &l.keep, "--within, --max-cost: rungs that the file keeps")
      .one_of({"chosen", "all"})
      .of("classifier,lm");
  table.add("clusters", &l.clusters, "--within, --max-cost: clusters of classes; 0: by their number")
      .in(0, 8192)
      .of("classifier,lm");
  return table;
}

OptionTable normalize_option_table(NormalizeArguments& n) {
  OptionTable table;
  table
      .add("states", &n.states,
           "Hidden states (.npy, .npz, .safetensors, a folder of shards) or data of the model, with or "
           "without labels; default: "
           "the training data of a run directory, or an array in HEAD itself")
      .of_kind(OptionKind::file);
  table.add("states-name", &n.states_name, "npz, safetensors: the array that holds the states")
      .of("classifier,lm");
  table
      .add("vocabulary", &n.vocabulary,
           "Checkpoint directories: rows of the head that are classes, the others are padding; 0: all")
      .of("classifier");
  table.add("link", &n.link, "Checkpoint directories: files that do not change are hard links, not copies")
      .of("classifier");
  table.add("out", &n.out, "File to write; default HEAD-normalized")
      .of_kind(OptionKind::file)
      .short_form("-o");
  table.add("hold-out", &n.hold_out, "Fraction of the states that only verifies").in(0, 0.5).above(0);
  table.add("delta", &n.delta, "Retrain the head until rms log Z <= delta; 0: do not").at_least(0);
  table.add("budget", &n.budget, "Retrain the head, giving up at most so many nats of likelihood; 0: do not")
      .at_least(0);
  table
      .add("targets", &n.targets,
           "Retraining: to labels, or to the head's own distribution; auto: labels where there are any")
      .one_of({"auto", "labels", "teacher"})
      .of("classifier,lm");
  table
      .add("amortise", &n.amortise,
           "Fit b(h) to what is left of log Z and store it; 'score' then subtracts it. For CRFs: linear, "
           "b(x) of log Z as it is, instead of the lossless step; no weight changes")
      .one_of({"none", "linear", "mlp"});
  table.add("hidden", &n.hidden, "--amortise mlp: hidden units").at_least(1).of("classifier,lm");
  table.add("seed", &n.seed, "Seed of everything random");
  return table;
}

OptionTable page_option_table(AuditArguments& a) {
  OptionTable table;
  table
      .add("report", &a.report,
           "Page to write, with its data beside it; default: report.html in the run directory of MODEL, or "
           "here")
      .of_kind(OptionKind::file);
  table.add("no-report", &a.no_report, "Do not write the page");
  return table;
}

}  // namespace

void Grammar::declare_model_commands() {
  EvaluateArguments& evaluate = arguments_.evaluate;
  Declaration& evaluation =
      command("evaluate",
              "Likelihood, accuracy and normalisation of models on labelled data; perplexity of language "
              "models on text; likelihood of densities on points, with log Z and its error; likelihood, b(x) "
              "against A(x), CRPS and calibration of regressors on tables; accuracy, F1 of spans and log Z "
              "by length of CRFs on sentences.");
  evaluation.positional("MODEL", evaluate.models, "Model files, run directories or softmax heads")
      .shown_positional("DATA",
                        "Labelled data, text for language models, points for densities, a table for "
                        "regressors, or labelled sentences for CRFs, after the models")
      .options(evaluate_option_table(evaluate))
      .checked(precision_option_table, arguments_.ladder);
  declare_any_data(evaluation);
  declare_common(evaluation, arguments_.common, kExpansion | kThreads | kCode | kDevice);

  PredictArguments& predict = arguments_.predict;
  OptionTable predicted = prediction_option_table(predict.options).of("regressor");
  predicted.find("seed")->of("lm,regressor");
  Declaration& prediction = command(
      "predict",
      "Answers, one for each line or row of DATA as it is read, with exact probabilities. A classifier gives "
      "the label and its probability. A language model gives the next words, or continues the text. A CRF "
      "labels the words of sentences. A density gives log-densities, and which rows are the most unusual. A "
      "regressor gives mean, standard deviation, median, modes, quantiles and intervals; what is missing, "
      "new "
      "or far outside the training data is counted on standard error.");
  prediction.positional("MODEL", predict.model, "Model file, run directory or softmax head")
      .positional("DATA", predict.data,
                  "Lines of text, rows of a table, sentences, arrays: as the model was trained on, with or "
                  "without labels; - or nothing: standard input",
                  false)
      .options(answer_option_table(predict))
      .options(word_option_table(predict))
      .options(predicted, {"quantiles", "intervals", "survival", "number", "grid"})
      .options(log_density_option_table(predict))
      .options(point_option_table(arguments_.points))
      .options(head_option_table(arguments_.head));
  declare_predict_reader(prediction, arguments_.reader);
  prediction.options(predicted, {"precision", "seed"});
  declare_common(prediction, arguments_.common, kExpansion | kThreads | kCode);

  ScoreArguments& score = arguments_.score;
  Declaration& scoring = command(
      "score",
      "Log-probabilities of candidates, within --within: by the cheapest rung of the model's ladder of "
      "log-normalizers that is certified for it, exactly normalised where there is none. Without "
      "--candidates "
      "or --top the label in the data is scored. A language model scores every word of the sentences in "
      "DATA, "
      "a CRF the labels of every sentence, a density every row, a regressor the target of every row.");
  scoring.positional("MODEL", score.model, "Model file, run directory or softmax head")
      .files("DATA", score.data,
             "Data, with or without labels, in one or more files; text for a language model, labelled "
             "sentences for a CRF; - or nothing: standard input")
      .options(score_option_table(score))
      .checked(served_option_table, arguments_.ladder);
  declare_any_data(scoring);
  declare_common(scoring, arguments_.common, kExpansion | kThreads | kCode | kDevice);

  BoundsArguments& bounds = arguments_.bounds;
  Declaration& bounding =
      command("bounds",
              "What a bound on rms(log Z - m), m = log of the number of classes, costs in likelihood: the "
              "gap measured on the data beside the theory's bounds of it.");
  bounding.positional("MODEL", bounds.model, "Model file, run directory or softmax head")
      .positional("DATA", bounds.data, "Labelled data, best those the model was trained on")
      .checked(bounds_option_table, bounds)
      .options(head_option_table(arguments_.head));
  declare_reader(bounding, arguments_.reader);
  declare_common(bounding, arguments_.common, kExpansion | kThreads);

  OptionTable verify;
  verify.add("verify", &arguments_.verify,
             "Read the whole file and compare it with the checksum that selfnorm wrote into it; exit 1 when "
             "it differs");
  Declaration& info =
      command("info", "What a model file holds: family, sizes, objective, training record, audit.");
  info.positional("MODEL", arguments_.info_model, "Model file, run directory or softmax head")
      .options(verify)
      .options(head_option_table(arguments_.head));
  declare_common(info, arguments_.common, kExpansion | kCode);
}

void Grammar::declare_normalizing_commands() {
  NormalizeArguments& n = arguments_.normalize;
  Declaration& normalization = command(
      "normalize",
      "Self-normalise an existing model or softmax head: without changing what it predicts; with --delta or "
      "--budget, at a stated price; with --amortise, by a cheap estimate of log Z that is stored with it; "
      "with --within, by "
      "a ladder of such estimates, of which the cheapest that is certified to be good enough is stored.");
  normalization
      .positional("HEAD", n.head,
                  "Model file, run directory, softmax head (.safetensors, .npz), or checkpoint directory")
      .checked(normalize_option_table, n)
      .checked(ladder_option_table, arguments_.ladder)
      .options(head_option_table(arguments_.head));
  declare_any_reader(normalization, arguments_.reader);
  declare_common(normalization, arguments_.common, kExpansion | kThreads | kDevice);

  AuditArguments& a = arguments_.audit;
  OptionTable states, kind;
  states.add("states-name", &a.states_name, "npz, safetensors: the array that holds the states")
      .of("classifier,lm");
  kind.add("require", &a.require, "'eps=0.1,rho=0.01,conf=0.99': exit 3 unless certified");
  kind.add("sample", &a.sample,
           "Audit N inputs of DATA, chosen at random (0: all), and the certificates of the model's ladder on "
           "them; exit 3 "
           "when one of these no longer holds")
      .of("classifier,lm,crf");
  kind.add("raw", &a.raw, "Audit raw scores also where the model has an amortised normalizer")
      .of("classifier,lm,crf");
  const OptionTable certified = audit_option_table(a.options);
  Declaration& auditing =
      command("audit",
              "How far scores can be trusted as log-probabilities: the exact log Z of held-out inputs, what "
              "it does to likelihood and calibration, and a distribution-free certificate.");
  auditing.positional("MODEL", a.model, "Model file, run directory or softmax head")
      .files("DATA", a.data,
             "Held-out inputs, with or without labels, in one or more files: data of the model, or hidden "
             "states",
             true)
      .options(states)
      .options(certified, {"eps", "rho", "confidence"})
      .options(kind)
      .options(certified, {"bins", "worst"})
      .options(page_option_table(a))
      .options(head_option_table(arguments_.head));
  declare_any_reader(auditing, arguments_.reader);
  declare_common(auditing, arguments_.common, kExpansion | kThreads | kCode | kDevice);
}

}  // namespace selfnorm::cli
