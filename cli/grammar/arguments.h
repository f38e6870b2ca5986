// What each command was told, as plain structs that the parser fills.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "audit/audit.h"
#include "data/corpus/word_vocabulary.h"
#include "data/read.h"
#include "data/toy/generate.h"
#include "experiments/reproduction.h"
#include "family/classifier/options.h"
#include "family/crf/crf_trainer.h"
#include "family/density/density_evaluation.h"
#include "family/density/density_sample.h"
#include "family/density/train/density_options.h"
#include "family/lm/lm_options.h"
#include "family/regressor/predictive.h"
#include "family/regressor/train/regressor_options.h"
#include "model/energy/energy.h"
#include "model/head/head_file.h"

namespace selfnorm::cli {

using Json = nlohmann::ordered_json;

struct CommonArguments {
  int threads = 0;
  std::string device = "auto";
  bool json = false;
  bool quiet = false;
  std::string config;
  double max_expansion = kLargestExpansion;
  bool allow_code = false;

  // Of the commands that compute with a model; `info` seals it.
  EmbeddedCode code() const { return allow_code ? EmbeddedCode::run : EmbeddedCode::refuse; }
};

// The parser turns the words into `options` after parsing.
struct ReaderArguments {
  std::string format = "auto";
  std::string header = "auto";
  bool decimal_comma = false;
  ReadOptions options;
};

// What a run of any training command is told.
struct RunArguments {
  std::string train;
  std::string valid;
  std::string hold_out = "auto";
  std::string out;
  bool resume = false;
  bool overwrite = false;
  double checkpoint_seconds = 30;
  bool no_report = false;
  bool force = false;
  bool verbose = false;
};

struct TrainArguments : RunArguments {
  std::string valid_labels;
  std::string weight_file;
  std::string unlabelled;
  std::string carrier;
  TrainOptions options;
};

// train lm.
struct LanguageArguments {
  LanguageArguments() { run.options = language_defaults(); }

  TrainArguments run;
  uint32_t order = 5;
  VocabularyOptions vocabulary;
};

// Of points, beside format and header.
struct PointArguments {
  std::vector<std::string> drop, categorical;  // columns
  std::string array;
};

// train density.
struct DensityArguments {
  RunArguments run;
  DensityOptions options;
};

// train regressor.
struct RegressorArguments {
  RunArguments run;
  std::string test;
  std::vector<std::string> target, ignored;
  std::string target_low;
  bool skip_missing_targets = false;
  RegressorOptions options;
};

// train crf.
struct CrfArguments {
  RunArguments run;
  std::string format = "auto";
  std::string target;  // column from 0, or a name of CoNLL-U; empty: the one of the format
  std::string template_file;
  uint32_t min_count = 1;
  CrfOptions options;
};

struct TagArguments {
  std::string model;
  std::string data;
  std::string format = "auto";
  std::string decode = "viterbi";
  uint64_t n_best = 1;
  uint64_t seed = 0;  // sample
  std::string score = "none";
  bool marginals = false;
  bool all_marginals = false;
};

struct PredictArguments {
  std::string model;
  std::string data;
  uint64_t top = 0;  // 0: as the family has it
  std::vector<std::string> keep;
  std::string output_format = "auto";
  std::string out;
  std::vector<std::string> candidates;  // language models: next words
  uint64_t complete = 0;                // language models: words that follow
  double temperature = 0;               // 0: the most probable word
  std::string log_density = "auto";     // regressors
  PredictionOptions options;
};

struct SampleArguments {
  SampleArguments() { options.count = 0; }

  std::string model;
  std::string out;
  double temperature = 1;  // language models
  uint64_t longest = 100;  // words
  DensitySampleOptions options;
};

// How precise log-probabilities have to be, of the commands that fit a ladder or take a rung of one.
struct LadderArguments {
  double within = 0.1, rho = 0.01, confidence = 0.99;
  double asked = 0;     // --within of commands that take a rung; 0: what the ladder promises
  double max_cost = 0;  // dot products; 0: --within decides
  uint32_t clusters = 0;
  std::string keep = "chosen";
  bool no_ladder = false;  // train
};

struct EvaluateArguments {
  std::vector<std::string> models;
  std::string data;
  bool timing = false;
  uint64_t limit = 0;   // language models: tokens evaluated; 0: all
  std::string draw;     // regressors: folder of the pictures
  std::string feature;  // regressors: column along which they are drawn
};

struct ScoreArguments {
  std::string model;
  std::string data;
  std::vector<std::string> candidates;
  std::string candidates_file;
  uint64_t top = 0;
  bool raw = false;
  bool amortised = false;
  bool exact = false;
  std::string rung;     // by name; empty: by the precision
  bool totals = false;  // language models: of sentences only
};

struct AuditArguments {
  std::string model;
  std::string data;
  std::string states_name;
  std::string require;
  bool raw = false;
  uint64_t sample = 0;  // inputs, chosen at random; 0: all
  std::string report;   // the page; empty: in the run, or here
  bool no_report = false;
  AuditOptions options;
};

struct NormalizeArguments {
  std::string head;
  std::string states;
  std::string states_name;
  uint32_t vocabulary = 0;  // checkpoint directories; 0: all rows
  bool link = false;
  std::string out;
  double hold_out = 0.1;
  double delta = 0;   // 0: none
  double budget = 0;  // 0: none
  std::string targets = "auto";
  std::string amortise = "none";
  uint32_t hidden = 64;
  uint64_t seed = 0;
};

struct BoundsArguments {
  std::string model;
  std::string data;
  double delta = 0.1;
};

struct ReportArguments {
  std::vector<std::string> sources;
  std::string out;
};

struct LaunchArguments {
  uint64_t processes = 0;  // 0: one for every core
  std::vector<std::string> command;
};

struct GenerateArguments {
  GenerateOptions options;
  std::string out;
  std::string truth;
  std::string toy;         // points instead of examples; a word of data/toy/toys.h
  uint32_t dimension = 0;  // of the toy; 0: its own
  std::string regression;  // a table with a target instead; a word of data/toy/generate.h
};

struct Arguments {
  std::string command;  // the path, "train classifier"
  Json options;         // every option of the command, resolved, by name without dashes
  std::map<std::string, std::string>
      changed;                  // "--alpha": those that are not the default, with their families
  std::set<std::string> named;  // those that were given, also with their default
  CommonArguments common;
  ReaderArguments reader;
  LadderArguments ladder;
  HeadNames head;        // where MODEL may be anybody's softmax head
  TrainArguments train;  // train classifier
  LanguageArguments language;
  DensityArguments density;        // train density
  PointArguments points;           // data of densities
  DensityEvaluationOptions log_z;  // of densities
  RegressorArguments regressor;    // train regressor
  CrfArguments crf;                // train crf
  TagArguments tag;
  PredictArguments predict;
  SampleArguments sample;
  EvaluateArguments evaluate;
  ScoreArguments score;
  AuditArguments audit;
  NormalizeArguments normalize;
  BoundsArguments bounds;
  ReproductionOptions reproduce;
  ReportArguments report;
  LaunchArguments launch;
  GenerateArguments generate;
  std::string info_model;
  bool verify = false;  // of info
  std::string shell;
  bool markdown = false;  // of man
  std::vector<std::string> help_words;

  // Whether an option ("--alpha") was given a value of its own.
  bool has(const std::string& option) const { return changed.contains(option); }
  // Whether one of these was given, also with its default.
  bool has_named(const std::vector<std::string>& names) const;
  // Unless `applies`, throws Error for the first of `names` that was given: it belongs to `owner`
  // ("--objective dsm"), and `found` is what was given instead.
  void require(const std::vector<std::string>& names, bool applies, const std::string& owner,
               const std::string& found) const;
  // Throws Error "OPTION: WHY" for the first of `names` that was given.
  void refuse(const std::vector<std::string>& names, const std::string& why) const;
  // Throws Error for an option that is for models of other families; `model` is "run is a density".
  void refuse_foreign(const std::string& family, const std::string& model) const;

  // Of the training command that was given: of classes and words, and of every one.
  const TrainArguments& training() const { return command == "train lm" ? language.run : train; }
  TrainArguments& training() { return command == "train lm" ? language.run : train; }
  const RunArguments& run() const {
    return command == "train density"     ? density.run
           : command == "train regressor" ? regressor.run
           : command == "train crf"       ? crf.run
                                          : training();
  }
  const std::string& objective() const {
    return command == "train density"     ? density.options.objective
           : command == "train regressor" ? regressor.options.objective
           : command == "train crf"       ? crf.options.objective.name
                                          : training().options.objective.name;
  }
};

}  // namespace selfnorm::cli
