// What can be done with a language model: evaluate, score, audit, normalize, info, bounds.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "cli/program.h"

namespace selfnorm::cli {
namespace {

class LanguageModel : public testing::Test {
 protected:
  void SetUp() override {
    folder.generate_text();
    folder.generate_text("test.txt", 60, 7);
    train("snl", {});
  }
  void train(const std::string& out, const std::vector<std::string>& more) const {
    std::vector<std::string> words{"train",    "lm",    "data.txt", "--dimension", "4",
                                   "--hidden", "4",     "--epochs", "2",           "--batch",
                                   "64",       "--out", out,        "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome trained = folder.run(words);
    ASSERT_EQ(trained.code, 0) << trained.err;
  }
  // The sum over the sentences of "log_prob" of `score --json`.
  double total(const std::string& model, const std::vector<std::string>& more) const {
    std::vector<std::string> words{"score", model, "test.txt", "--json", "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome scored = folder.run(words);
    double sum = 0;
    const auto sentences = scored.json()["sentences"];
    for (const auto& sentence : sentences) sum += sentence["log_prob"].get<double>();
    return sum;
  }

  Folder folder;
};

// evaluate works in the library, score in the C runtime; the text is the same.
TEST_F(LanguageModel, EvaluationIsTheSumOfTheScores) {
  train("mlp", {"--normalizer", "mlp"});
  train("tree", {"--objective", "hierarchical"});
  for (const std::string model : {"snl", "mlp", "tree"}) {
    const auto json = folder.run({"evaluate", model, "test.txt", "--json"}).json();
    const double tokens = json["tokens"].get<double>();
    EXPECT_NEAR(-total(model, {"--exact"}) / tokens, json["nll_exact"].get<double>(), 1e-5) << model;
    EXPECT_NEAR(-total(model, {"--raw"}) / tokens, json["nll_raw"].get<double>(), 1e-5) << model;
    EXPECT_NEAR(std::log(json["perplexity_exact"].get<double>()), json["nll_exact"].get<double>(), 1e-12);
    EXPECT_NEAR(std::log(json["perplexity_raw"].get<double>()), json["nll_raw"].get<double>(), 1e-12);
    if (model != "mlp") continue;
    EXPECT_NEAR(-total(model, {"--amortised"}) / tokens, json["nll_amortised"].get<double>(), 1e-5);
    EXPECT_TRUE(json["log_z_amortised"]["rms"].is_number());
  }
}

TEST_F(LanguageModel, EvaluateSideBySideWithRates) {
  train("exact", {"--objective", "exact"});
  const Outcome table = folder.run({"evaluate", "snl", "exact", "test.txt", "--timing"});
  ASSERT_EQ(table.code, 0) << table.err;
  EXPECT_NE(table.out.find("words/s"), std::string::npos) << table.out;
  const auto json =
      folder.run({"evaluate", "snl", "exact", "test.txt", "--timing", "--json"}).json()["models"];
  ASSERT_EQ(json.size(), 2u);
  for (const auto& model : json) {
    for (const char* key : {"tokens", "unknown", "log_normalizer", "perplexity_known"})
      EXPECT_TRUE(model[key].is_number()) << key;
    for (const char* key : {"mean", "std", "rms", "min", "max", "q01", "q50", "q99"})
      EXPECT_TRUE(model["log_z"][key].is_number()) << key;
    const double raw = model["words_per_second"], exact = model["words_per_second_exact"];
    EXPECT_GT(raw, 0);
    EXPECT_DOUBLE_EQ(model["speed_ratio"].get<double>(), raw / exact);
  }
  const auto some = folder.run({"evaluate", "snl", "test.txt", "--limit", "10", "--json"}).json();
  EXPECT_EQ(some["tokens"], 10);
  EXPECT_EQ(some["of_tokens"], json[0]["tokens"]);
}

TEST_F(LanguageModel, ScoresSentencesFromStandardInput) {
  const std::string text = "the cat\n\nzebra sat\n";
  const Outcome scored = folder.run_on(text, {"score", "snl", "--exact"});
  ASSERT_EQ(scored.code, 0) << scored.err;
  std::istringstream lines(scored.out);
  std::vector<std::string> words, marks;
  double sum = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line[0] == '#') continue;
    std::istringstream fields(line);
    std::string sentence, word, log_prob, kind, rest;
    std::getline(fields, sentence, '\t');
    std::getline(fields, word, '\t');
    std::getline(fields, log_prob, '\t');
    std::getline(fields, kind, '\t');
    std::getline(fields, rest);
    words.push_back(sentence + word);
    marks.push_back(rest);
    EXPECT_EQ(kind, "exact");
    if (word == "<total>") {
      EXPECT_NEAR(sum, std::stod(log_prob), 1e-9);
      sum = 0;
    } else {
      sum += std::stod(log_prob);
    }
  }
  EXPECT_EQ(words, (std::vector<std::string>{"0the", "0cat", "0</s>", "0<total>", "1</s>", "1<total>",
                                             "2zebra", "2sat", "2</s>", "2<total>"}));
  EXPECT_EQ(marks, (std::vector<std::string>{"", "", "", "3\t0", "", "1\t0", "unknown", "", "", "3\t1"}));
  const Outcome totals = folder.run_on(text, {"score", "snl", "-", "--totals"});
  EXPECT_EQ(std::count(totals.out.begin(), totals.out.end(), '\n'), 4) << totals.out;
  EXPECT_EQ(folder.run_on("", {"score", "snl"}).out, "");
  EXPECT_EQ(folder.run_on("", {"score", "snl", "--json"}).json()["sentences"].size(), 0u);
}

// Longer than what is scored at once: no word is lost between two calls.
TEST_F(LanguageModel, LongSentences) {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += "the cat ";
  const auto once = folder.run_on(text, {"score", "snl", "--json"}).json()["sentences"][0];
  EXPECT_EQ(once["tokens"], 20'001);
  EXPECT_DOUBLE_EQ(once["words"][10]["log_prob"], once["words"][10'000]["log_prob"]);
  EXPECT_DOUBLE_EQ(once["words"][4095]["log_prob"], once["words"][4097]["log_prob"]);
}

TEST_F(LanguageModel, AuditAndNormalizeByItsStates) {
  const auto evaluated = folder.run({"evaluate", "snl", "test.txt", "--json"}).json();
  const auto audited = folder.run({"audit", "snl", "test.txt", "--json", "--quiet"}).json();
  EXPECT_EQ(audited["n"], evaluated["tokens"]);
  EXPECT_NEAR(audited["nll_exact"].get<double>(), evaluated["nll_exact"].get<double>(), 1e-9);
  EXPECT_NEAR(audited["log_z"]["rms"].get<double>(), evaluated["log_z"]["rms"].get<double>(), 1e-9);
  train("exact", {"--objective", "exact"});
  const Outcome normalized = folder.run({"normalize", "exact", "-o", "n.safetensors", "--quiet"});
  ASSERT_EQ(normalized.code, 0) << normalized.err;
  const auto both = folder.run({"evaluate", "exact", "n.safetensors", "test.txt", "--json"}).json()["models"];
  EXPECT_NEAR(both[0]["nll_exact"].get<double>(), both[1]["nll_exact"].get<double>(), 1e-4);
  EXPECT_LT(both[1]["log_z"]["rms"].get<double>(), both[0]["log_z"]["rms"].get<double>());
}

TEST_F(LanguageModel, WhatMakesNoSenseIsAnError) {
  train("tree", {"--objective", "hierarchical"});
  folder.generate("data.svm", 60, 3);
  folder.write("empty.txt", "");
  ASSERT_EQ(folder.run({"train", "classifier", "data.svm", "--quiet", "--out", "classes"}).code, 0);
  expect_user_error(folder.run({"audit", "tree", "test.txt"}), "sum to 1 as they are");
  expect_user_error(folder.run({"normalize", "tree", "-o", "n.safetensors"}), "sum to 1 as they are");
  expect_user_error(folder.run({"bounds", "snl", "test.txt"}), "is a language model");
  expect_user_error(folder.run({"evaluate", "snl", "classes", "test.txt"}), "evaluate them apart");
  expect_user_error(folder.run({"evaluate", "snl", "empty.txt"}), "empty.txt: the file is empty");
  expect_user_error(folder.run({"evaluate", "classes", "data.svm", "--limit", "3"}),
                    "--limit: classes is a classifier; it is for language models");
  expect_user_error(folder.run({"score", "snl", "test.txt", "--top", "3"}),
                    "--top: snl is a language model; it is for classifiers");
  expect_user_error(folder.run({"score", "snl", "test.txt", "--raw", "--exact"}), "only one of");
  expect_user_error(folder.run({"score", "snl", "missing.txt"}), "cannot read missing.txt");
  expect_user_error(folder.run({"score", "classes", "data.svm", "--totals"}), "it is for language models");
  expect_user_error(folder.run_on("a </s>\n", {"score", "snl"}), "standard input:1: found the word </s>");
}

}  // namespace
}  // namespace selfnorm::cli
