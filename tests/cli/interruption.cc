// Signals while the data are read, and while a run replaces another.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "cli/program.h"

namespace selfnorm::cli {
namespace {

namespace fs = std::filesystem;

TEST(Interruption, WhileReadingItStopsAtOnceAndLeavesNothing) {
  const Folder folder;
  ASSERT_EQ(mkfifo((folder / "data.svm").c_str(), 0600), 0);
  const auto before = folder.names();
  const Outcome outcome = folder.run({"train", "classifier", "data.svm", "--out", "run"}, [&](pid_t child) {
    int writer = -1;  // opens once there is a reader
    for (int i = 0; i < 5000 && writer < 0; ++i) {
      writer = open((folder / "data.svm").c_str(), O_WRONLY | O_NONBLOCK);
      if (writer < 0) usleep(1000);
    }
    EXPECT_GE(writer, 0);
    kill(child, SIGINT);
  });
  EXPECT_EQ(outcome.code, 130);
  EXPECT_EQ(folder.names(), before);
}

// Kills an --overwrite run in the middle.
void kill_overwrite(const Folder& folder) {
  const auto is_begun = [&folder] { return fs::exists(folder / "run/config.json.replaced"); };
  folder.run({"train", "classifier", "data.svm", "--quiet", "--out", "run", "--overwrite", "--optimiser",
              "adam", "--epochs", "100000", "--patience", "0", "--batch", "1"},
             [&](pid_t child) {
               for (int i = 0; i < 5000 && !is_begun(); ++i) usleep(1000);
               kill(child, SIGKILL);
             });
  ASSERT_TRUE(is_begun());
}

TEST(Interruption, AKilledOverwriteLeavesTheOldModel) {
  const Folder folder;
  folder.generate("data.svm", 300, 4);
  ASSERT_EQ(folder.run({"train", "classifier", "data.svm", "--quiet", "--out", "run"}).code, 0);
  const std::string model = content(folder / "run/model.safetensors");
  const std::string record = content(folder / "run/config.json");
  kill_overwrite(folder);
  EXPECT_EQ(content(folder / "run/model.safetensors"), model);
  kill_overwrite(folder);
  EXPECT_EQ(content(folder / "run/config.json.replaced"), record);
  expect_user_error(folder.run({"train", "classifier", "data.svm", "--quiet", "--out", "run",
                                "--class-weight", "x=1", "--overwrite"}),
                    "'x'");
  EXPECT_EQ(content(folder / "run/model.safetensors"), model);
  ASSERT_EQ(folder
                .run({"train", "classifier", "data.svm", "--quiet", "--out", "run", "--overwrite",
                      "--objective", "exact"})
                .code,
            0);
  EXPECT_NE(content(folder / "run/model.safetensors"), model);
  EXPECT_FALSE(fs::exists(folder / "run/config.json.replaced"));
}

TEST(Interruption, WhatWasSetAsideBeforeAKillComesBack) {
  const Folder folder;
  folder.generate("data.svm", 60, 3);
  ASSERT_EQ(folder.run({"train", "classifier", "data.svm", "--quiet", "--out", "run"}).code, 0);
  const std::string record = content(folder / "run/config.json");
  fs::rename(folder / "run/config.json", folder / "run/config.json.replaced");
  expect_user_error(folder.run({"train", "classifier", "data.svm", "--quiet", "--out", "run"}),
                    "already holds");
  EXPECT_EQ(content(folder / "run/config.json"), record);
}

TEST(Interruption, LeavesNoUnfinishedFile) {
  const Folder folder;
  const auto is_writing = [&folder] {
    const auto names = folder.names();
    return std::any_of(names.begin(), names.end(),
                       [](const std::string& name) { return name.find(".tmp-") != std::string::npos; });
  };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    bool was_writing = false;
    const Outcome outcome =
        folder.run({"data", "generate", "--rows", "300000", "--features", "100", "--density", "0.3",
                    "--classes", "3", "--out", "data.svm"},
                   [&](pid_t child) {
                     for (int i = 0; i < 20000 && !was_writing && kill(child, 0) == 0; ++i) {
                       usleep(1000);
                       was_writing = is_writing();
                     }
                     kill(child, signal);
                   });
    EXPECT_TRUE(was_writing);
    EXPECT_EQ(outcome.code, 130) << outcome.err;
    EXPECT_EQ(folder.names(), std::vector<std::string>{});
  }
}

TEST(Interruption, ATerminatedTrainingThatHadNoEndLeavesItsCheckpoint) {
  const Folder folder;
  folder.generate("data.svm", 2000, 500);
  const std::vector<std::string> words{"train",       "classifier",  "data.svm",   "--out",   "run",
                                       "--quiet",     "--optimiser", "lbfgs",      "--steps", "1000000",
                                       "--tolerance", "1e-300",      "--patience", "0"};
  const Outcome outcome = folder.run(words, [&](pid_t child) {
    for (int i = 0; i < 20000 && !fs::exists(folder / "run/metrics.jsonl"); ++i) usleep(1000);
    kill(child, SIGTERM);
  });
  EXPECT_EQ(outcome.code, 130) << outcome.err;
  EXPECT_NE(outcome.err.find("--resume --out run"), std::string::npos) << outcome.err;
  EXPECT_EQ(files_of(folder / "run"),
            (std::vector<std::string>{"checkpoint.safetensors", "config.json", "metrics.jsonl"}));
}

}  // namespace
}  // namespace selfnorm::cli
