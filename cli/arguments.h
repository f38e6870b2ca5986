// What each command was told, as plain structs that the parser fills.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "selfnorm/analysis/audit.h"
#include "selfnorm/data/generate.h"
#include "selfnorm/data/read.h"
#include "selfnorm/data/word_vocabulary.h"
#include "selfnorm/model/head_file.h"
#include "selfnorm/train/options.h"

namespace selfnorm::cli {

struct CommonArguments {
  int threads = 0;
  bool json = false;
  bool quiet = false;
  std::string config;
};

// ReadOptions as words of the command line; the parser turns them into `options` after parsing.
struct ReaderArguments {
  std::string format = "auto";
  std::string header = "auto";
  bool no_tf_idf = false;
  bool keep_case = false;
  ReadOptions options;
};

struct TrainArguments {
  std::string train;
  std::string valid;
  std::string valid_labels;
  std::string hold_out = "auto";
  std::string centre = "auto";
  bool no_calibrate = false;
  std::string weight_file;
  std::string carrier;
  std::string out;
  bool resume = false;
  bool overwrite = false;
  double checkpoint_seconds = 30;
  TrainOptions options;
};

TrainOptions language_defaults();

// train lm.
struct LanguageArguments {
  LanguageArguments() { run.options = language_defaults(); }

  TrainArguments run;
  uint32_t order = 5;
  VocabularyOptions vocabulary;
};

struct EvaluateArguments {
  std::vector<std::string> models;
  std::string data;
  bool timing = false;
  uint64_t limit = 0;  // language models: tokens evaluated; 0: all
};

struct ScoreArguments {
  std::string model;
  std::string data;
  std::string candidates;
  std::string candidates_file;
  uint64_t top = 0;
  bool raw = false;
  bool exact = false;
  bool totals = false;  // language models: of sentences only
};

struct AuditArguments {
  std::string model;
  std::string data;
  std::string states_name;
  std::string require;
  bool raw = false;
  AuditOptions options;
};

struct NormalizeArguments {
  std::string head;
  std::string states;
  std::string states_name;
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

struct ReproduceArguments {
  std::string experiment;
  std::string out;
  std::string document;
  std::string text;
  uint64_t seed = 1;
};

struct GenerateArguments {
  GenerateOptions options;
  std::string out;
  std::string truth;
};

struct Arguments {
  std::string command;             // the path, "train classifier"
  nlohmann::ordered_json options;  // every option of the command, resolved, by name without dashes
  CommonArguments common;
  ReaderArguments reader;
  HeadNames head;        // where MODEL may be anybody's softmax head
  TrainArguments train;  // train classifier
  LanguageArguments language;
  EvaluateArguments evaluate;
  ScoreArguments score;
  AuditArguments audit;
  NormalizeArguments normalize;
  BoundsArguments bounds;
  ReproduceArguments reproduce;
  GenerateArguments generate;
  std::string info_model;
  std::string shell;
  std::vector<std::string> help_words;

  // Of the training command that was given.
  const TrainArguments& training() const { return command == "train lm" ? language.run : train; }
  TrainArguments& training() { return command == "train lm" ? language.run : train; }
};

}  // namespace selfnorm::cli
