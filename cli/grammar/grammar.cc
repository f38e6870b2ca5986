#include "grammar/grammar.h"

#include <algorithm>
#include <cstdlib>

#include "family.h"
#include "family/classifier/normalize/training_ladder.h"
#include "selfnorm/error.h"

namespace selfnorm::cli {
namespace {

OptionTable train_ladder_option_table(LadderArguments& l) {
  return training_ladder_option_table(l.within, l.rho, l.confidence, l.no_ladder);
}

}  // namespace

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
  const char* set = std::getenv("SELFNORM_ALLOW_CODE");
  arguments_.common.allow_code = set != nullptr && std::string_view(set) == "1";
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
  Declaration& classifier = command("train classifier",
                                    "Train a classifier, log-linear or (--encoder bag) on embeddings, or, on "
                                    "svmlight data with qid: groups, a conditional logit, whose raw scores "
                                    "are log-probabilities; audit it and write a run directory.");
  classifier.files("TRAIN", train.train, "Training data, one or more files");
  declare_run(classifier, train, "TRAIN",
              "Fraction of TRAIN held out for validation when there is no --valid, 0..0.5; auto: 0.1, or 0 "
              "for the constraint, whose bound is about all of TRAIN");
  OptionTable files;
  files.add("valid-labels", &train.valid_labels, "npy, idx: file with the labels of --valid")
      .of_kind(OptionKind::file);
  files
      .add("carrier", &train.carrier,
           "Fixed log h(k): lines 'label<TAB>number', or one number per class in the order of the labels")
      .of_kind(OptionKind::file);
  files
      .add("unlabelled", &train.unlabelled,
           "Inputs whose log Z is drawn to 0 as well as that of TRAIN, in the same form; labels are not "
           "looked at; "
           "penalty with lbfgs")
      .of_kind(OptionKind::file);
  files.add("weight-file", &train.weight_file, "One weight per example, a number a line")
      .of_kind(OptionKind::file);
  OptionTable training = train_option_table("classifier", train.options);
  training.find("objective")->text +=
      ". Without this or another option of an objective or encoder: exact, or nce where sums over 1,000 "
      "classes or more would take too long";
  training.find("encoder")->text +=
      ", or bag where the objective is not given either and texts or sparse rows have 1,000 classes or more";
  training.find("l2")->text += "; of a linear model by maximum likelihood it is chosen on the held-out rows";
  classifier.options(training)
      .checked(train_ladder_option_table, arguments_.ladder)
      .options(files)
      .options(column_kind_option_table(arguments_.reader.options))
      .options(text_option_table(arguments_.reader.options.text))
      .chosen({"--objective", "--encoder", "--l2", "--l2-from", "--char-ngrams-min", "--char-ngrams-max"});
  declare_reader(classifier, arguments_.reader);
  declare_common(classifier, arguments_.common, kExpansion | kThreads | kTrainingDevice);

  LanguageArguments& language = arguments_.language;
  Declaration& model = command(
      "train lm",
      "Train a neural n-gram language model whose raw scores are log-probabilities, audit it and write a run "
      "directory. The text is tokenised: a sentence a line, words separated by white space.");
  model.files("CORPUS", language.run.train, "Text, plain or gzipped, one or more files; - is standard input")
      .options(order_option_table(language.order))
      .options(vocabulary_option_table(language.vocabulary));
  declare_run(model, language.run, "CORPUS",
              "Fraction of the sentences of CORPUS held out for validation when there is no --valid, 0..0.5; "
              "auto: 0.05");
  model.options(train_option_table("lm", language.run.options))
      .checked(train_ladder_option_table, arguments_.ladder);
  declare_common(model, arguments_.common, kExpansion | kThreads | kTrainingDevice);
}

void Grammar::declare_registered_families() {
  for (const CommandFamily& family : families()) {
    if (!family.options) continue;
    Declaration& training = command("train " + family.name, family.text);
    training.positional(family.data, arguments_.train.train, "Training data", false);
    declare_run(training, arguments_.train, family.data,
                "Fraction of " + family.data + " held out for validation when there is no --valid, 0..0.5");
    training.options(family.options(arguments_));
    declare_common(training, arguments_.common, kExpansion | kThreads | kCode);
  }
}

void Grammar::declare_other_commands() {
  GenerateArguments& g = arguments_.generate;
  OptionTable kinds, files;
  kinds.add("toy", &g.toy,
            "Points instead of examples: checkerboard, four-circles, funnel, pinwheel, two-moons, "
            "eight-gaussians, ring, spirals, mixture, gaussian or ising[:SEED of its couplings]");
  kinds.add("dimension", &g.dimension, "--toy mixture, gaussian, ising: dimensions; 0: 2, or 10 of ising");
  kinds.add("regression", &g.regression,
            "A table with a target y: task1 (one input, skewed or bimodal) or mixed (numbers, a categorical "
            "column, missing values)");
  files.add("out", &g.out, "Data file to write (required)").of_kind(OptionKind::file);
  files.add("truth", &g.truth, "True parameters as a model file; default OUT.truth.safetensors")
      .of_kind(OptionKind::file);
  Declaration& generation =
      command("data generate",
              "Random sparse binary features and labels drawn from a log-linear model with known parameters, "
              "as svmlight; or (--toy) points of a known density, as csv or npy; or (--regression) a table "
              "with a target whose density given the other columns is known, as csv.");
  generation.options(kinds).checked(generate_option_table, g.options).options(files);
  declare_common(generation, arguments_.common, 0);

  ReproductionOptions& r = arguments_.reproduce;
  OptionTable table;
  table.add("out", &r.out, "Folder for data and figures (required)").of_kind(OptionKind::directory);
  table
      .add("document", &r.document,
           "Markdown file with all results; all: DIR/reproduction.md, the other groups: DIR/NAME.md")
      .of_kind(OptionKind::file);
  table.add("text", &r.text, "Text for the language models; default: the licences of the Debian system")
      .of_kind(OptionKind::file);
  table
      .add("data", &r.data,
           "Folder of the real tables, tasks and treebanks; default: SELFNORM_DATA, else ../shared/data")
      .of_kind(OptionKind::directory);
  table.add("fresh", &r.fresh,
            "density, regression: train everything again instead of using DIR/NAME.cells.jsonl, which knows "
            "a training by its options and data, not by the program: needed after a change of code");
  table.add("seed", &r.seed,
            "Seed of everything random; density: the seeds from 4 (N - 1), regression: from 5 (N - 1)");
  Declaration& reproduction =
      command("reproduce",
              "Figures and tables of the papers, of densities, regression and sequences, measured: data, a "
              "figure and what was expected beside what was found.");
  reproduction
      .positional_choice("EXPERIMENT", r.experiment, reproduction_names(),
                         "Which experiment; all: those of the papers, in a few minutes; density and "
                         "regression take about 40 minutes each, sequences 15, and can be resumed")
      .options(table);
  declare_common(reproduction, arguments_.common, kExpansion | kThreads);

  ReportArguments& report = arguments_.report;
  OptionTable page, pages;
  page.add("out", &report.out, "Page to write; default report.html")
      .of_kind(OptionKind::file)
      .short_form("-o");
  Declaration& reporting = command("report",
                                   "One self-contained HTML page of a run, an audit, a normalisation or "
                                   "experiments; of several, compared. It needs no network and no server.");
  reporting
      .positional("RUN_OR_JSON", report.sources,
                  "Run directories, JSON files that train, audit, normalize or reproduce wrote, folders of "
                  "experiments")
      .options(page);
  declare_common(reporting, arguments_.common, 0);

  OptionTable together;
  together
      .add("processes", &arguments_.launch.processes,
           "How many; 0: one for every core. Without --threads in COMMAND they share the cores")
      .short_form("-n");
  command(
      "launch",
      "Several processes of this machine that train together, by mpirun: 'selfnorm launch -n 4 -- train "
      "...'. The model has the same bits as that of one process; 'mpirun' and 'srun' start the same on many "
      "machines.")
      .positional("COMMAND", arguments_.launch.command, "After --: the training command", false,
                  ValueKind::kText)
      .options(together);

  Declaration& completion = command("completions", "Print a completion script for a shell.");
  completion.positional_choice("SHELL", arguments_.shell, {"bash", "zsh", "fish"}, "The shell");
  pages.add("markdown", &arguments_.markdown, "Print the reference page, docs/reference.md, instead");
  command("man", "Print the manual page.").options(pages);
  command("help", "Show the options of a command, or explain a topic: data, choosing, scores, output.")
      .positional("COMMAND_OR_TOPIC", arguments_.help_words, "A command or a topic", false, ValueKind::kText);
}

void Grammar::parse(const std::string& path, const std::vector<std::string>& words) {
  root_.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  const Declaration& given = declaration(path);
  given.store();
  arguments_.command = path;
  arguments_.options = given.values();
  arguments_.changed = given.changed();
}

CommandTable Grammar::table() const {
  CommandTable table;
  for (const auto& declaration : commands_) table.push_back(declaration->row());
  return table;
}

Declaration& Grammar::declaration(const std::string& path) {
  for (const auto& declaration : commands_)
    if (declaration->row().path == path) return *declaration;
  throw Bug("no command " + path);
}

}  // namespace selfnorm::cli
