// Classifiers with an encoder: train classifier --encoder bag, and what can be done with them.
#include <gtest/gtest.h>

#include <cmath>

#include "cli/program.h"

namespace selfnorm::cli {
namespace {

class TrainBag : public testing::Test {
 protected:
  Outcome train(const std::string& data, const std::string& out,
                const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{"train",       "classifier", data,       "--encoder", "bag",
                                   "--dimension", "6",          "--epochs", "4",         "--batch",
                                   "32",          "--out",      out,        "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return folder.run(words);
  }

  const Folder folder;
};

// evaluate works in the library, score in the C runtime.
TEST_F(TrainBag, EvaluationIsTheSumOfTheScores) {
  folder.generate();
  for (const std::string objective : {"penalty", "snl", "hierarchical"}) {
    const Outcome trained =
        train("data.svm", objective, {"--objective", objective, "--hidden", "5", "--samples", "3"});
    ASSERT_EQ(trained.code, 0) << trained.err;
    const auto json = folder.run({"evaluate", objective, "data.svm", "--json", "--timing"}).json();
    for (const std::string kind : {"raw", "exact"}) {
      double sum = 0;
      const auto rows =
          folder.run({"score", objective, "data.svm", "--json", "--quiet", "--" + kind}).json()["rows"];
      for (const auto& row : rows) sum += row["log_prob"].get<double>();
      EXPECT_NEAR(-sum / 300, json["nll_" + kind].get<double>(), 1e-5) << objective << kind;
    }
    double mass = 0;
    const auto top =
        folder.run({"score", objective, "data.svm", "--json", "--quiet", "--exact", "--top", "4"}).json();
    for (size_t k = 0; k < 4; ++k) mass += std::exp(top["rows"][k]["log_prob"].get<double>());
    EXPECT_NEAR(mass, 1, 1e-5);
    EXPECT_GT(json["accuracy"], 0.25);
    EXPECT_GE(json["top5"], json["accuracy"]);
  }
}

TEST_F(TrainBag, TextWithPretrainedWords) {
  std::string text;
  for (int i = 0; i < 60; ++i)
    text += i % 2 == 0 ? "good\tfine weather again\n" : "bad\tdreadful rain again\n";
  folder.write("text.tsv", text);
  folder.write("a.vec", "2 6\nrain 1 1 1 1 1 1\nsnow 0 0 0 0 0 0\n");
  const Outcome trained =
      folder.run({"train", "classifier", "text.tsv", "--format", "text", "--encoder", "bag", "--dimension",
                  "6", "--ngrams", "1", "--embeddings", "a.vec", "--out", "run"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.err.find("a.vec: embeddings of 1 of 5 words"), std::string::npos) << trained.err;
  const auto json = folder.run({"evaluate", "run", "text.tsv", "--json"}).json();
  EXPECT_EQ(json["accuracy"], 1);
  const auto info = folder.run({"info", "run", "--json"}).json();
  EXPECT_EQ(info["encoder"]["kind"], "bag");
  EXPECT_EQ(info["encoder"]["inputs"], 5);
  EXPECT_EQ(info["features"], 6);
}

TEST_F(TrainBag, AuditNormalizeAndBoundsByItsStates) {
  folder.generate();
  ASSERT_EQ(train("data.svm", "run", {"--objective", "exact"}).code, 0);
  const auto evaluated = folder.run({"evaluate", "run", "data.svm", "--json"}).json();
  const auto audited = folder.run({"audit", "run", "data.svm", "--json", "--quiet"}).json();
  EXPECT_NEAR(audited["nll_exact"].get<double>(), evaluated["nll_exact"].get<double>(), 1e-5);
  ASSERT_EQ(folder.run({"normalize", "run", "-o", "n.safetensors", "--quiet"}).code, 0);
  const auto after = folder.run({"evaluate", "n.safetensors", "data.svm", "--json"}).json();
  EXPECT_NEAR(after["nll_exact"].get<double>(), evaluated["nll_exact"].get<double>(), 1e-4);
  EXPECT_LT(after["log_z"]["rms"].get<double>(), evaluated["log_z"]["rms"].get<double>());
  EXPECT_EQ(folder.run({"bounds", "run", "data.svm", "--quiet"}).code, 0);
}

TEST_F(TrainBag, ClassWeightsCount) {
  folder.generate();
  ASSERT_EQ(train("data.svm", "plain").code, 0);
  ASSERT_EQ(train("data.svm", "weighted", {"--class-weight", "0=5"}).code, 0);
  EXPECT_NE(content(folder / "plain/model.safetensors"), content(folder / "weighted/model.safetensors"));
}

TEST_F(TrainBag, WhatMakesNoSenseIsAnError) {
  folder.generate();
  folder.write("dense.csv", "x,y,label\n1,2,a\n2,1,b\n3,1,a\n1,3,b\n");
  folder.write("groups.svm", "1 qid:1 1:1\n0 qid:1 2:1\n1 qid:2 1:1\n0 qid:2 2:1\n");
  folder.write("a.vec", "the 1 1 1 1 1 1\n");
  expect_user_error(train("dense.csv", "run"), "--encoder bag: expected sparse rows, found dense ones");
  expect_user_error(train("groups.svm", "run"), "--encoder bag: expected classes");
  expect_user_error(train("data.svm", "run", {"--encoder", "identity"}),
                    "--encoder identity: expected dense rows");
  expect_user_error(train("data.svm", "run", {"--embeddings", "a.vec"}), "--embeddings are found by word");
  expect_user_error(train("data.svm", "run", {"--objective", "constraint"}), "constraint");
  expect_user_error(train("data.svm", "run", {"--optimiser", "lbfgs"}), "lbfgs");
  expect_user_error(
      folder.run({"train", "classifier", "data.svm", "--objective", "hierarchical", "--out", "run"}),
      "--objective hierarchical needs --encoder bag");
  expect_user_error(folder.run({"train", "classifier", "data.svm", "--embeddings", "a.vec", "--out", "run"}),
                    "--embeddings needs --encoder bag");
  ASSERT_EQ(train("data.svm", "tree", {"--objective", "hierarchical"}).code, 0);
  expect_user_error(folder.run({"audit", "tree", "data.svm"}), "sum to 1 as they are");
  expect_user_error(folder.run({"bounds", "tree", "data.svm"}), "sum to 1 as they are");
}

}  // namespace
}  // namespace selfnorm::cli
