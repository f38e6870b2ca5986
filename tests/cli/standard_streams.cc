// Descriptors 0, 1 and 2 that are closed, full, or pipes whose reader left.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>

#include "cli/families.h"

namespace selfnorm::cli {
namespace {

// Its end that is written to has no reader.
constexpr const char* kLeft = "rm -f fifo; mkfifo fifo; exec 3<>fifo; exec 4>fifo; exec 3<&-; rm fifo; ";

// The exit code of the program with these words, run by a shell in the folder.
int shell(const Folder& folder, const std::vector<std::string>& words, const std::string& redirection) {
  std::string command = "cd " + folder.path() + "; " + kLeft + SELFNORM_PROGRAM;
  for (const std::string& word : words) command += " '" + word + "'";
  folder.write("script", command + " " + redirection + "; echo $? > code\n");
  EXPECT_EQ(std::system(("sh " + folder / "script").c_str()), 0);
  return std::stoi(content(folder / "code"));
}

const std::vector<std::string> kBrokenStderr{"2>&-", "2>/dev/full", "2>&4"};

class EveryFamilysStreams : public testing::TestWithParam<TrainedFamily> {};

TEST_P(EveryFamilysStreams, TrainingDoesNotDependOnStderr) {
  const Folder folder;
  GetParam().write_data(folder);
  ASSERT_EQ(folder.run(GetParam().words("whole", {"--seed", "5"})).code, 0);
  const std::string model = content(folder / "whole/model.safetensors");
  for (size_t i = 0; i < kBrokenStderr.size(); ++i) {
    const std::string out = "run" + std::to_string(i);
    EXPECT_EQ(shell(folder, GetParam().words(out, {"--seed", "5"}), kBrokenStderr[i] + " >out"), 0)
        << kBrokenStderr[i];
    EXPECT_TRUE(content(folder / (out + "/model.safetensors")) == model) << kBrokenStderr[i];
  }
  // an error is still its exit code
  for (const std::string& broken : kBrokenStderr)
    EXPECT_EQ(shell(folder, {"score", "nowhere", "data"}, broken + " >out"), 1) << broken;
}

INSTANTIATE_TEST_SUITE_P(All, EveryFamilysStreams, testing::ValuesIn(every_family()),
                         [](const auto& test) { return test.param.name; });

class StandardStreams : public testing::Test {
 protected:
  void SetUp() override { folder_.generate(); }
  static constexpr const char* kTruth = "data.svm.truth.safetensors";
  Folder folder_;
};

TEST_F(StandardStreams, ResultsDoNotDependOnStderr) {
  folder_.write("bad.svm", content(folder_ / "data.svm") + "one 2:x\n");  // a warning with --skip-bad
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"score", kTruth, "data.svm"},
                                             {"evaluate", kTruth, "bad.svm", "--skip-bad", "3"},
                                             {"audit", kTruth, "data.svm", "--no-report"},
                                             {"info", kTruth},
                                             {"bounds", kTruth, "data.svm"}}) {
    const Outcome whole = folder_.run(words);
    ASSERT_EQ(whole.code, 0) << words[0] << whole.err;
    for (const std::string& broken : kBrokenStderr) {
      EXPECT_EQ(shell(folder_, words, broken + " >out"), 0) << words[0] << " " << broken;
      EXPECT_EQ(content(folder_ / "out"), whole.out) << words[0] << " " << broken;
    }
  }
}

TEST_F(StandardStreams, FilesAreWrittenWithoutStderr) {
  write_table(folder_, "table.csv");
  ASSERT_EQ(folder_.run(tiny_regressor("table.csv", "run", {"--quiet", "--no-report"})).code, 0);
  for (const std::string& broken : kBrokenStderr) {
    EXPECT_EQ(shell(folder_, {"predict", "run", "table.csv", "-o", "p.csv"}, broken + " >out"), 0) << broken;
    EXPECT_FALSE(content(folder_ / "p.csv").empty()) << broken;
    std::filesystem::remove(folder_ / "p.csv");
    EXPECT_EQ(shell(folder_, {"normalize", kTruth, "--states", "data.svm", "-o", "n.safetensors"},
                    broken + " >out"),
              0)
        << broken;
    EXPECT_FALSE(content(folder_ / "n.safetensors").empty()) << broken;
    std::filesystem::remove(folder_ / "n.safetensors");
  }
}

TEST_F(StandardStreams, ClosedStandardInputIsNoFile) {
  for (const char* command : {"score", "evaluate"}) {
    EXPECT_EQ(shell(folder_, {command, kTruth, "-"}, "<&- >out 2>err"), 1);
    EXPECT_NE(content(folder_ / "err").find("standard input is closed"), std::string::npos)
        << content(folder_ / "err");
  }
  const std::string whole = folder_.run({"score", kTruth, "data.svm"}).out;
  EXPECT_EQ(shell(folder_, {"score", kTruth, "data.svm"}, "<&- >out"), 0);
  EXPECT_EQ(content(folder_ / "out"), whole);
}

TEST_F(StandardStreams, ClosedStandardOutputIsAnErrorAndNoFile) {
  const std::string model = content(folder_ / kTruth), data = content(folder_ / "data.svm");
  EXPECT_EQ(shell(folder_, {"score", kTruth, "data.svm"}, "<&- >&- 2>err"), 1);
  EXPECT_NE(content(folder_ / "err").find("standard output: it is closed"), std::string::npos);
  EXPECT_EQ(shell(folder_, {"score", kTruth, "data.svm"}, ">&- 2>&-"), 1);
  EXPECT_TRUE(content(folder_ / kTruth) == model && content(folder_ / "data.svm") == data);
  EXPECT_EQ(shell(folder_, {"train", "classifier", "data.svm", "--out", "run", "--quiet"}, "<&- >&- 2>&-"),
            1);  // its results cannot be written; the model is
  EXPECT_EQ(folder_.run({"score", "run", "data.svm"}).code, 0);
}

TEST_F(StandardStreams, AReaderOfTheResultsMayLeave) {
  EXPECT_EQ(shell(folder_, {"score", kTruth, "data.svm"}, ">&4 2>err"), 128 + SIGPIPE);
  EXPECT_EQ(content(folder_ / "err"), "");
}

}  // namespace
}  // namespace selfnorm::cli
