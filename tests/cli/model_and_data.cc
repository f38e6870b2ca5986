// What a model remembers of the data it was trained on, and lists that go with the data.
#include <gtest/gtest.h>

#include "cli/program.h"

namespace selfnorm::cli {
namespace {

Outcome train(const Folder& folder, const std::string& data, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"train", "classifier", data, "--quiet", "--hold-out", "0", "--out", "run"});
  return folder.run(more);
}

const std::string kNumbers = "0.5,1,7\n-0.5,2,8\n0.6,1,7\n-0.4,2,8\n";

TEST(ModelAndData, TheTargetColumnIsRemembered) {
  const Folder folder;
  folder.write("data.csv", kNumbers);
  ASSERT_EQ(train(folder, "data.csv", {"--target", "2"}).code, 0);
  EXPECT_EQ(folder.run({"info", "run", "--json"}).json()["target"], "2");
  EXPECT_EQ(folder.run({"evaluate", "run", "data.csv", "--json"}).json()["accuracy"], 1.0);
  EXPECT_EQ(folder.run({"score", "run", "data.csv", "--json"}).json()["rows"][1]["label"], "8");
}

TEST(ModelAndData, AHeaderOfNumbers) {
  const Folder folder;
  folder.write("data.csv", "0,1,label\n" + kNumbers);
  ASSERT_EQ(train(folder, "data.csv").code, 0);
  const auto info = folder.run({"info", "run", "--json"}).json();
  EXPECT_EQ(info["classes"], 2);
  EXPECT_EQ(info["target"], "label");
}

TEST(ModelAndData, CandidatesAreFoundAsTheReaderFindsLabels) {
  const Folder folder;
  folder.write("data.svm", "+1 1:1\n-1 2:1\n+1 1:2\n-1 2:2\n");
  ASSERT_EQ(train(folder, "data.svm").code, 0);
  const auto rows = folder.run({"score", "run", "data.svm", "--candidates", "1", "--json"}).json()["rows"];
  EXPECT_EQ(rows[0]["label"], "+1");
  folder.write("carrier.txt", "1\t0\n-1\t0.5\n");
  EXPECT_EQ(train(folder, "data.svm", {"--carrier", "carrier.txt", "--overwrite"}).code, 0);
}

TEST(ModelAndData, WeightsOfSkippedRowsAreSkipped) {
  const Folder folder;
  folder.write("good.svm", "a 1:1\nb 2:1\na 1:2\n");
  folder.write("bad.svm", "a 1:1\nb 2:oops\nb 2:1\na 1:2\n");
  folder.write("three.txt", "1\n5\n2\n");
  folder.write("four.txt", "1\n100\n5\n2\n");
  ASSERT_EQ(train(folder, "good.svm", {"--weight-file", "three.txt"}).code, 0);
  const std::string model = content(folder / "run/model.safetensors");
  ASSERT_EQ(train(folder, "bad.svm", {"--weight-file", "four.txt", "--skip-bad", "1", "--overwrite"}).code,
            0);
  EXPECT_TRUE(content(folder / "run/model.safetensors") == model);
  EXPECT_EQ(train(folder, "bad.svm", {"--weight-file", "three.txt", "--skip-bad", "1", "--overwrite"}).code,
            1);
}

TEST(ModelAndData, AJointModelSaysWhatItWants) {
  const Folder folder;
  folder.write("joint.svm", "1 qid:1 1:1\n0 qid:1 2:1\n0 qid:2 1:1 2:1\n1 qid:2 1:2\n1 qid:3 1:1\n");
  folder.write("classes.svm", "a 1:1\nb 2:1\n");
  folder.write("carrier.txt", "1\n2\n");
  expect_user_error(train(folder, "joint.svm", {"--carrier", "carrier.txt"}), "without classes");
  ASSERT_EQ(train(folder, "joint.svm").code, 0);
  expect_user_error(folder.run({"evaluate", "run", "classes.svm"}),
                    "the model scores groups of alternatives");
  expect_user_error(folder.run({"score", "run", "joint.svm", "--json", "--candidates", "1"}),
                    "candidate 1 of group 2");
}

TEST(ModelAndData, EveryCommandRefusesADamagedModel) {
  const Folder folder;
  folder.generate("data.svm", 60, 4);
  const std::string good = content(folder / "data.svm.truth.safetensors");
  const auto check = [&](const std::string& from, const std::string& to, const std::string& text) {
    std::string bad = good;
    ASSERT_NE(bad.rfind(from), std::string::npos) << from;
    folder.write("m.st", bad.replace(bad.rfind(from), from.size(), to));
    for (const auto& words : std::vector<std::vector<std::string>>{{"info", "m.st", "--json"},
                                                                   {"score", "m.st", "data.svm", "--json"},
                                                                   {"evaluate", "m.st", "data.svm"}})
      expect_user_error(folder.run(words), text);
  };
  const auto word = [](char c) { return c + std::string(7, '\0'); };
  check("\"audit\":\"{}\"", "\"audit\":\"{]\"", "m.st: metadata \"audit\" is not JSON");
  check("0123", "0120", "m.st: the model names the label '0' twice");
  check(word(1) + word(2) + word(3), word(2) + word(1) + word(3), "m.st: tensor labels.offsets");
}

// Without --quiet: what was read is said only when all of it is good.
TEST(ModelAndData, AnErrorIsTheOnlyLine) {
  const Folder folder;
  folder.generate("data.svm", 60, 3);
  folder.write("one.svm", "a 1:1\na 2:1\na 1:2\n");
  folder.write("unseen.svm", "9 1:1\n");
  folder.write("weights.txt", "1\n");
  folder.write("carrier.txt", "0\t1\n1\n2\n");
  const auto error = [&folder](std::vector<std::string> more, const std::string& text) {
    more.insert(more.begin(), {"train", "classifier", "--out", "run"});
    expect_user_error(folder.run(more), text);
  };
  error({"one.svm"}, "one class only");
  error({"data.svm", "--valid", "unseen.svm"}, "unseen.svm: found the label");
  error({"data.svm", "--weight-file", "weights.txt"}, "has 1 weights");
  error({"data.svm", "--class-weight", "1=2,1=3"}, "a second time");
  error({"data.svm", "--carrier", "carrier.txt"}, "carrier.txt:2: mixes");
}

}  // namespace
}  // namespace selfnorm::cli
