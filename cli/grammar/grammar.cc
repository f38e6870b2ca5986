#include "grammar/grammar.h"

#include <algorithm>

#include "experiments/experiment.h"
#include "family.h"
#include "selfnorm/error.h"

namespace selfnorm::cli {

Grammar::Grammar() {
  root_.require_subcommand(1);
  declare_training_commands();
  declare_density_commands();
  declare_regressor_commands();
  declare_crf_commands();
  declare_registered_families();
  declare_model_commands();
  declare_normalizing_commands();
  declare_other_commands();
}

Declaration& Grammar::command(const std::string& path, const std::string& text) {
  CLI::App* app = &root_;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find(' ', begin), path.size());
    const std::string word = path.substr(begin, end - begin);
    const auto same = app->get_subcommands([&](CLI::App* a) { return a->get_name() == word; });
    CLI::App* next = same.empty() ? nullptr : same[0];
    if (next == nullptr) next = app->add_subcommand(word, end == path.size() ? text : word + " ...");
    app = next;
    if (end != path.size()) app->require_subcommand(1);
    begin = end + 1;
  }
  commands_.push_back(
      std::make_unique<Declaration>(*app, CommandRow{.path = path, .text = text, .options = {}}));
  return *commands_.back();
}

void Grammar::declare_training_commands() {
  TrainArguments& train = arguments_.train;
  Declaration& classifier = command(
      "train classifier",
      "Train a classifier, log-linear or (--encoder bag) on embeddings, or, on svmlight data with qid: "
      "groups, a conditional logit, whose raw scores are log-probabilities; audit it and write a run "
      "directory.");
  classifier.positional("TRAIN", train.train, "Training data", false);
  declare_run(
      classifier, train, "TRAIN",
      "Fraction of TRAIN held out for validation when there is no --valid, 0..0.5; auto: 0.1, or 0 for the "
      "constraint, whose bound is about all of TRAIN");
  classifier.options(train_option_table("classifier", train.options))
      .file("--valid-labels", train.valid_labels, "npy, idx: file with the labels of --valid")
      .file("--carrier", train.carrier,
            "Fixed log h(k): lines 'label<TAB>number', or one number per class in the order of the labels")
      .file("--weight-file", train.weight_file, "One weight per example, a number a line");
  declare_text(classifier, arguments_.reader);
  declare_reader(classifier, arguments_.reader);
  declare_common(classifier, arguments_.common, kExpansion | kThreads);

  LanguageArguments& language = arguments_.language;
  Declaration& model = command(
      "train lm",
      "Train a neural n-gram language model whose raw scores are log-probabilities, audit it and write a run "
      "directory. The text is tokenised: a sentence a line, words separated by white space.");
  model.positional("CORPUS", language.run.train, "Text, plain or gzipped; - is standard input", false)
      .integer("--order", language.order, "n: a word is predicted from the n - 1 before it; 2..16")
      .integer("--min-count", language.vocabulary.min_count,
               "Words seen less than N times become <unk>; >= 1")
      .integer("--max-vocabulary", language.vocabulary.max_words,
               "Keep at most the N most frequent words; 0 keeps all");
  declare_run(
      model, language.run, "CORPUS",
      "Fraction of the sentences of CORPUS held out for validation when there is no --valid, 0..0.5; auto: "
      "0.05");
  model.options(train_option_table("lm", language.run.options));
  declare_common(model, arguments_.common, kExpansion | kThreads);
}

void Grammar::declare_registered_families() {
  for (const CommandFamily& family : families()) {
    if (!family.declare) continue;
    Declaration& training = command("train " + family.name, family.text);
    training.positional(family.data, arguments_.train.train, "Training data", false);
    declare_run(training, arguments_.train, family.data,
                "Fraction of " + family.data + " held out for validation when there is no --valid, 0..0.5");
    family.declare(training, arguments_);
    declare_common(training, arguments_.common, kExpansion | kThreads | kCode);
  }
}

void Grammar::declare_model_commands() {
  EvaluateArguments& evaluate = arguments_.evaluate;
  Declaration& evaluation = command(
      "evaluate",
      "Likelihood, accuracy and normalisation of models on labelled data; perplexity of language models on "
      "text; likelihood of densities on points, with log Z and its error; likelihood, b(x) against A(x), "
      "CRPS and calibration of regressors on tables; accuracy, F1 of spans and log Z by length of chains on "
      "sentences.");
  evaluation.positional("MODEL", evaluate.models, "Model files, run directories or softmax heads")
      .shown_positional("DATA",
                        "Labelled data, text for language models, points for densities, a table for "
                        "regressors, or labelled sentences for chains, after the models")
      .flag("--timing", evaluate.timing,
            "Also time the scoring of one candidate, raw and exact, in nanoseconds; of a chain: of one "
            "labelling, a sentence and a token; a language model: in words per second")
      .integer("--limit", evaluate.limit,
               "Language models: evaluate N tokens of DATA, chosen at random; 0: all")
      .option(
          "--draw", evaluate.draw,
          "Regressors: folder for pictures (SVG, with their data as CSV): PIT, coverage, b against A, fan "
          "chart",
          ValueKind::kDirectory)
      .text("--feature", evaluate.feature,
            "Regressors: numeric column along which quantiles and a heat map of the density are drawn too");
  declare_any_data(evaluation, arguments_);
  declare_common(evaluation, arguments_.common, kExpansion | kThreads | kCode);

  ScoreArguments& score = arguments_.score;
  Declaration& scoring = command(
      "score",
      "Log-probabilities of candidates, exactly normalised; from 10,000 classes on amortised (raw - b(x)) "
      "where the model has a b, otherwise raw (a dot product each). Without --candidates or --top the label "
      "in the data "
      "is scored. A language model scores every word of the sentences in DATA, a chain the labels of every "
      "sentence, a density every row, a regressor the target of every row.");
  scoring.positional("MODEL", score.model, "Model file, run directory or softmax head")
      .positional(
          "DATA", score.data,
          "Data, with or without labels; a language model: text, a chain: labelled sentences; - or none: "
          "standard input",
          false)
      .text("--candidates", score.candidates, "Labels, separated by commas, quoted as in CSV")
      .file("--candidates-file", score.candidates_file, "Labels, one a line")
      .integer("--top", score.top, "The N best labels of each row")
      .flag("--raw", score.raw,
            "Raw scores, which are log-probabilities as far as log Z is constant; of a density and a "
            "regressor: with b")
      .flag("--amortised", score.amortised, "Scores less b(x), of a model that has one")
      .flag("--exact", score.exact, "Normalise exactly, with any number of classes")
      .flag("--totals", score.totals, "Language models: only the total of each sentence");
  declare_any_data(scoring, arguments_);
  declare_common(scoring, arguments_.common, kExpansion | kThreads | kCode);

  BoundsArguments& bounds = arguments_.bounds;
  Declaration& bounding = command(
      "bounds",
      "What a bound on rms(log Z - m), m = log of the number of classes, costs in likelihood: the gap "
      "measured on the data beside the theory's bounds of it.");
  bounding.positional("MODEL", bounds.model, "Model file, run directory or softmax head")
      .positional("DATA", bounds.data, "Labelled data, best those the model was trained on")
      .real("--delta", bounds.delta, "Bound of rms(log Z - m); > 0");
  declare_head(bounding, arguments_.head);
  declare_reader(bounding, arguments_.reader);
  declare_common(bounding, arguments_.common, kExpansion | kThreads);

  Declaration& info =
      command("info", "What a model file holds: family, sizes, objective, training record, audit.");
  info.positional("MODEL", arguments_.info_model, "Model file, run directory or softmax head");
  info.flag(
      "--verify", arguments_.verify,
      "Read the whole file and compare it with the checksum that selfnorm wrote into it; exit 1 when it "
      "differs");
  declare_head(info, arguments_.head);
  declare_common(info, arguments_.common, kExpansion | kCode);
}

void Grammar::declare_other_commands() {
  GenerateOptions& o = arguments_.generate.options;
  Declaration& generation =
      command("data generate",
              "Random sparse binary features and labels drawn from a log-linear model with known "
              "parameters, as svmlight; or (--toy) points of a known density, as csv or npy; or "
              "(--regression) a table with a target whose density given the other columns is known, as csv.");
  generation
      .text("--toy", arguments_.generate.toy,
            "Points instead of examples: checkerboard, four-circles, funnel, pinwheel, two-moons, "
            "eight-gaussians, ring, spirals, mixture, gaussian or ising[:SEED of its couplings]")
      .integer("--dimension", arguments_.generate.dimension,
               "--toy mixture, gaussian, ising: dimensions; 0: 2, or 10 of ising")
      .text("--regression", arguments_.generate.regression,
            "A table with a target y: task1 (one input, skewed or bimodal) or mixed (numbers, a categorical "
            "column, missing values)")
      .integer("--rows", o.rows, "Examples, points or rows; >= 1")
      .integer("--features", o.features, "Features, the first one constant; >= 1")
      .integer("--classes", o.classes, "Classes; >= 2")
      .real("--density", o.density, "Probability that a feature is 1; 0..1")
      .real("--temperature", o.temperature, "Multiplies the true scores; >= 0")
      .integer("--seed", o.seed, "Seed")
      .file("--out", arguments_.generate.out, "Data file to write (required)")
      .file("--truth", arguments_.generate.truth,
            "True parameters as a model file; default OUT.truth.safetensors");
  declare_common(generation, arguments_.common, 0);

  ReproduceArguments& r = arguments_.reproduce;
  std::vector<std::string> names;
  for (const Experiment& experiment : experiments()) names.push_back(experiment.name);
  names.emplace_back("all");
  names.emplace_back("density");
  names.emplace_back("regression");
  names.emplace_back("sequences");
  Declaration& reproduction = command("reproduce",
                                      "Figures and tables of the papers, of densities, regression and "
                                      "sequences, measured: data, a figure and what was "
                                      "expected beside what was found.");
  reproduction
      .positional_choice("EXPERIMENT", r.experiment, names,
                         "Which; all: those of the papers, in a few minutes; density, "
                         "regression: theirs, in about 40 minutes each, sequences in 15, resumable")
      .option("--out", r.out, "Folder for data and figures (required)", ValueKind::kDirectory)
      .file("--document", r.document,
            "Markdown file with all results; all: DIR/reproduction.md, the other groups: "
            "DIR/NAME.md")
      .file("--text", r.text, "Text for the language models; default: the licences of the Debian system")
      .option("--data", r.data,
              "Folder of the real tables, tasks and treebanks; default: SELFNORM_DATA, else ../shared/data",
              ValueKind::kDirectory)
      .flag("--fresh", r.fresh,
            "density, regression: train everything again instead of using DIR/NAME.cells.jsonl, which "
            "knows a training by its options and data, not by the program: needed after a change of code")
      .integer("--seed", r.seed,
               "Seed of everything random; density: the seeds from 4 (N - 1), regression: from 5 (N - 1)");
  declare_common(reproduction, arguments_.common, kExpansion | kThreads);

  ReportArguments& report = arguments_.report;
  Declaration& reporting = command("report",
                                   "One self-contained HTML page of a run, an audit, a normalisation or "
                                   "experiments; of several, compared. It needs no network and no server.");
  reporting
      .positional("RUN_OR_JSON", report.sources,
                  "Run directories, JSON files that train, audit, normalize or reproduce wrote, folders of "
                  "experiments")
      .file("-o", "--out", report.out, "Page to write; default report.html");
  declare_common(reporting, arguments_.common, 0);

  Declaration& completion = command("completions", "Print a completion script for a shell.");
  completion.positional_choice("SHELL", arguments_.shell, {"bash", "zsh", "fish"}, "The shell");
  command("man", "Print the manual page.")
      .flag("--markdown", arguments_.markdown, "Print the reference page, docs/reference.md, instead");
  command("help", "Show the options of a command.")
      .positional("COMMAND", arguments_.help_words, "A command", false, ValueKind::kText);
}

void Grammar::parse(const std::string& path, const std::vector<std::string>& words) {
  root_.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  arguments_.command = path;
  for (const auto& declaration : commands_) {
    if (declaration->row().path != path) continue;
    declaration->store();
    arguments_.options = declaration->values();
  }
}

CommandTable Grammar::table() const {
  CommandTable table;
  for (const auto& declaration : commands_) table.push_back(declaration->row());
  return table;
}

CLI::App& Grammar::app_of(const std::string& path) {
  for (const auto& declaration : commands_) {
    if (declaration->row().path == path) return declaration->app();
  }
  throw Bug("no command " + path);
}

}  // namespace selfnorm::cli
