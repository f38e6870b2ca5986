// What a run directory survives: races, kills, other places, files that cannot be written.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "cli/families.h"

namespace selfnorm::cli {
namespace {

namespace fs = std::filesystem;

pid_t dead_process() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return child;
}

std::vector<std::string> train_words(const std::string& data, const std::vector<std::string>& more = {}) {
  std::vector<std::string> words{"train", "classifier", data, "--out", "run", "--quiet", "--no-report"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// The other run begins and ends while this one reads its data.
TEST(RunDirectory, ARunThatWasFasterIsNotReplaced) {
  const Folder folder;
  folder.generate("data.svm");
  ASSERT_EQ(mkfifo((folder / "slow.svm").c_str(), 0600), 0);
  std::string model;
  const Outcome slower = folder.run(train_words("slow.svm", {"--seed", "7"}), [&](pid_t) {
    const int writer = open((folder / "slow.svm").c_str(), O_WRONLY);  // waits for the reader
    ASSERT_EQ(folder.run(train_words("data.svm")).code, 0);
    model = content(folder / "run/model.safetensors");
    const std::string data = content(folder / "data.svm");
    EXPECT_EQ(write(writer, data.data(), data.size()), static_cast<ssize_t>(data.size()));
    close(writer);
  });
  expect_user_error(slower, "already holds a run");
  EXPECT_TRUE(content(folder / "run/model.safetensors") == model);
  EXPECT_EQ(folder.run({"evaluate", "run", "data.svm"}).code, 0);
}

TEST(RunDirectory, UnfinishedFilesOfDeadProcessesGo) {
  const Folder folder;
  folder.generate("data.svm");
  const std::string dead = ".tmp-" + std::to_string(dead_process()) + "-0",
                    living = ".tmp-" + std::to_string(getpid()) + "-0";
  const auto leave = [&] {
    for (const char* name : {"config.json", "model.safetensors", "checkpoint.safetensors", "report.html"})
      folder.write(std::string("run/") + name + dead, "half");
    folder.write("run/audit.json" + living, "half");
    folder.write("run/mine.tmp-1-0", "");
  };
  fs::create_directory(folder / "run");
  for (const std::vector<std::string>& mode :
       std::vector<std::vector<std::string>>{{}, {"--overwrite"}, {"--resume"}}) {
    leave();
    ASSERT_EQ(folder.run(train_words("data.svm", mode)).code, 0);
    for (const std::string& name : files_of(folder / "run"))
      EXPECT_EQ(name.find(dead), std::string::npos) << name;
    EXPECT_TRUE(fs::exists(folder / ("run/audit.json" + living)));
    EXPECT_TRUE(fs::exists(folder / "run/mine.tmp-1-0"));
  }
}

class EveryFamilysRun : public testing::TestWithParam<TrainedFamily> {};

TEST_P(EveryFamilysRun, KilledBeforeItsRecordWasWrittenItSaysSoOrBegins) {
  const Folder folder;
  GetParam().write_data(folder);
  fs::create_directory(folder / "run");
  folder.write("run/config.json.tmp-" + std::to_string(dead_process()) + "-0", "{");
  const std::string command = GetParam().train[1];
  expect_user_error(folder.run({"train", command, "--resume", "--out", "run"}), "was never begun");
  const Outcome begun = folder.run(GetParam().words("run", {"--resume", "--quiet"}));
  EXPECT_EQ(begun.code, 0) << begun.err;
  EXPECT_TRUE(fs::exists(folder / "run/model.safetensors"));
}

// Without its model a run that has no checkpoint is one that was stopped early.
TEST_P(EveryFamilysRun, ResumesFromAnotherFolder) {
  const Folder folder;
  GetParam().write_data(folder);
  ASSERT_EQ(folder.run(GetParam().words("run", {"--quiet"})).code, 0);
  const std::string model = content(folder / "run/model.safetensors");
  fs::remove(folder / "run/model.safetensors");
  fs::create_directory(folder / "other");
  const std::string resume =
      std::string(SELFNORM_PROGRAM) + " train " + GetParam().train[1] + " --resume --out ";
  EXPECT_EQ(std::system(("cd " + folder / "other" + " && " + resume + "../run --quiet").c_str()), 0);
  EXPECT_TRUE(content(folder / "run/model.safetensors") == model);
  // moved with its data
  fs::remove(folder / "run/model.safetensors");
  const Folder place;
  fs::rename(folder / "run", place / "run");
  fs::rename(folder / "data", place / "data");
  EXPECT_EQ(std::system(("cd " + place.path() + " && " + resume + "run --quiet").c_str()), 0);
  EXPECT_TRUE(content(place / "run/model.safetensors") == model);
}

TEST_P(EveryFamilysRun, CheckpointsAndMetricsThatCannotBeWrittenDoNotEndIt) {
  const Folder folder;
  GetParam().write_data(folder);
  ASSERT_EQ(folder.run(GetParam().words("whole")).code, 0);
  for (const char* name : {"metrics.jsonl", "checkpoint.safetensors"})
    fs::create_directories(folder / (std::string("run/") + name + "/full"));
  const Outcome outcome = folder.run(GetParam().words("run", {"--overwrite", "--checkpoint-seconds", "0"}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(content(folder / "whole/model.safetensors") == content(folder / "run/model.safetensors"));
  for (const char* name : {"metrics.jsonl", "checkpoint.safetensors"}) {
    const size_t first = outcome.err.find(name);
    ASSERT_NE(first, std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find(name, first + 1), std::string::npos) << outcome.err;
  }
}

TEST_P(EveryFamilysRun, DivergenceIsItsExitCodeAndTheLastGoodModelIsThere) {
  const Folder folder;
  GetParam().write_data(folder);
  const Outcome outcome = folder.run(GetParam().words("run", {"--learning-rate", "3e38"}));
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_NE(outcome.err.find("last good one"), std::string::npos) << outcome.err;
  const Outcome evaluated = folder.run({"evaluate", "run", "data", "--json"});
  EXPECT_EQ(evaluated.code, 0) << evaluated.err;
  EXPECT_FALSE(fs::exists(folder / "run/checkpoint.safetensors"));
}

INSTANTIATE_TEST_SUITE_P(All, EveryFamilysRun, testing::ValuesIn(every_family()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace selfnorm::cli
