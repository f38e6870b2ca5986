#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "cli/program.h"

namespace selfnorm::cli {
namespace {

// The maximum of the likelihood of data.svm, in run/.
void train_to_the_maximum(const Folder& folder, const std::string& data) {
  const Outcome trained = folder.run({"train", "classifier", data, "--objective", "exact", "--hold-out", "0",
                                      "--patience", "0", "--arithmetic", "double", "--tolerance", "1e-8",
                                      "--steps", "2000", "--out", "run", "--quiet"});
  ASSERT_EQ(trained.code, 0) << trained.err;
}

void expect_no_violation(const nlohmann::json& side) {
  const double gap = side["gap"].get<double>();
  for (const auto& [name, bound] : side["bounds"].items()) {
    const double missing = side["holds"][name].get<bool>() ? 0 : side["missing"].get<double>();
    EXPECT_LE(gap, bound.get<double>() + missing + 1e-6) << name;
  }
}

TEST(Bounds, OfAModelAtTheMaximum) {
  const Folder folder;
  folder.generate("data.svm", 400);
  train_to_the_maximum(folder, "data.svm");
  const Outcome outcome = folder.run({"bounds", "run", "data.svm", "--delta", "0.3", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = outcome.json();
  EXPECT_EQ(keys(json), (std::set<std::string>{"model", "data", "n", "classes", "bad_rows", "delta", "m",
                                               "separated", "constrained", "at_model", "at_maximum"}));
  EXPECT_EQ(json["n"], 400);
  EXPECT_EQ(json["classes"], 4);
  EXPECT_NEAR(json["m"].get<double>(), std::log(4.0), 1e-12);
  EXPECT_FALSE(json["separated"].get<bool>());
  EXPECT_TRUE(json["constrained"]["converged"].get<bool>());
  EXPECT_NEAR(json["constrained"]["rms"].get<double>(), 0.3, 1e-3);
  const auto own = json["at_model"], best = json["at_maximum"];
  EXPECT_TRUE(own["is_maximum"].get<bool>());
  EXPECT_TRUE(best["is_maximum"].get<bool>());
  EXPECT_TRUE(best["holds"]["theorem2"].get<bool>());
  EXPECT_NEAR(own["nll"].get<double>(), best["nll"].get<double>(), 1e-5);
  EXPECT_NEAR(own["gap"].get<double>(), best["gap"].get<double>(), 1e-5);
  EXPECT_GT(best["gap"].get<double>(), 1e-3);
  expect_no_violation(own);
  expect_no_violation(best);
  EXPECT_NEAR(best["bounds"]["theorem2"].get<double>(), best["bounds"]["concavity"].get<double>(), 1e-5);
  EXPECT_LE(best["bounds"]["path"].get<double>(), best["bounds"]["theorem2"].get<double>());
  const std::string text = folder.run({"bounds", "run", "data.svm", "--delta", "0.3"}).out;
  EXPECT_NE(text.find("MODEL is at a maximum"), std::string::npos) << text;
  for (const char* row : {"measured gap", "path bound", "Theorem 2", "Proposition 3", "concavity form"}) {
    EXPECT_NE(text.find(row), std::string::npos) << row;
  }
}

// The truth is no maximum of a sample's likelihood: said, and the bounds that need one marked by what they
// lack.
TEST(Bounds, OfAModelElsewhere) {
  const Folder folder;
  folder.generate();
  const auto json =
      folder.run({"bounds", "data.svm.truth.safetensors", "data.svm", "--delta", "0.2", "--json"}).json();
  const auto own = json["at_model"];
  EXPECT_FALSE(own["is_maximum"].get<bool>());
  EXPECT_GT(own["nll"].get<double>(), json["at_maximum"]["nll"].get<double>() + 0.01);
  EXPECT_TRUE(own["holds"]["path"].get<bool>());
  EXPECT_TRUE(own["holds"]["concavity"].get<bool>());
  EXPECT_EQ(own["holds"]["theorem2"].get<bool>(), own["slope"].get<double>() <= 1e-6);
  expect_no_violation(own);
  const Outcome outcome = folder.run({"bounds", "data.svm.truth.safetensors", "data.svm", "--delta", "0.2"});
  EXPECT_NE(outcome.out.find("MODEL is not at a maximum"), std::string::npos) << outcome.out;
}

TEST(Bounds, ALargeDeltaCostsNothing) {
  const Folder folder;
  folder.generate();
  const auto json =
      folder.run({"bounds", "data.svm.truth.safetensors", "data.svm", "--delta", "1e9", "--json"}).json();
  EXPECT_EQ(json["at_maximum"]["gap"], 0.0);
  for (const auto& [name, bound] : json["at_maximum"]["bounds"].items()) EXPECT_EQ(bound, 0.0) << name;
}

TEST(Bounds, DoNotDependOnTheNumberOfThreads) {
  const Folder folder;
  folder.generate();
  const auto with = [&](const char* threads) {
    return folder.run({"bounds", "data.svm.truth.safetensors", "data.svm", "--threads", threads, "--json"})
        .out;
  };
  EXPECT_EQ(with("1"), with("2"));
  EXPECT_NE(with("1"), "");
}

TEST(Bounds, OfAConditionalLogit) {
  const Folder folder;
  std::string text;
  for (int g = 0; g < 60; ++g) {
    for (int y = 0; y < 3; ++y) {
      text += fmt::format("{} qid:{} 1:{} 2:{}\n", y == (g * g + g / 7) % 3 ? 1 : 0, g, (g * 7 + y * 3) % 5,
                          (g + y * y * 2) % 4);
    }
  }
  folder.write("choices.svm", text);
  train_to_the_maximum(folder, "choices.svm");
  const Outcome outcome = folder.run({"bounds", "run", "choices.svm", "--delta", "0.01", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NEAR(outcome.json()["m"].get<double>(), std::log(3.0), 1e-12);
  expect_no_violation(outcome.json()["at_model"]);
  expect_no_violation(outcome.json()["at_maximum"]);

  folder.write("uneven.svm", text + "1 qid:99 1:1\n0 qid:99 1:2\n");
  expect_user_error(folder.run({"bounds", "run", "uneven.svm", "--quiet"}), "all groups need the same size");
  folder.generate();
  expect_user_error(folder.run({"bounds", "data.svm.truth.safetensors", "choices.svm", "--quiet"}), "qid");
  expect_user_error(folder.run({"bounds", "run", "data.svm", "--quiet"}), "qid");
}

TEST(Bounds, ErrorsSayWhatWasExpected) {
  const Folder folder;
  folder.generate();
  const std::string model = "data.svm.truth.safetensors";
  expect_user_error(folder.run({"bounds", model, "data.svm", "--delta", "0"}), "--delta = 0");
  expect_user_error(folder.run({"bounds", model, "data.svm", "--delta=-1"}), "--delta = -1");
  expect_user_error(folder.run({"bounds", model, "data.svm", "--delta", "nan"}), "--delta");
  expect_user_error(folder.run({"bounds", model, "none.svm"}), "none.svm");
  expect_user_error(folder.run({"bounds", "none.safetensors", "data.svm"}), "none.safetensors");
  expect_user_error(folder.run({"bounds", model}), "DATA");
}

}  // namespace
}  // namespace selfnorm::cli
