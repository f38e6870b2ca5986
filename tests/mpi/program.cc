// Jobs of mpirun, through the built program: SELFNORM_PROGRAM is together.sh, which starts as many processes
// as a variable says.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cli/families.h"
#include "mpi/job_processes.h"

namespace selfnorm::cli {
namespace {

namespace fs = std::filesystem;

class Jobs : public testing::TestWithParam<TrainedFamily> {
 protected:
  void SetUp() override {
    setenv("SELFNORM_TEST_PROGRAM", SELFNORM_REAL_PROGRAM, 1);
    unsetenv("SELFNORM_TEST_EXTRA");
    unsetenv("SELFNORM_TEST_FOLDER");
    unsetenv("SELFNORM_TEST_OTHER");
    patience("2");
    processes(1);
  }
  // So many seconds Open MPI waits until it kills what is left of a job, and at every end that is not a good
  // one.
  static void patience(const char* seconds) { setenv("OMPI_MCA_odls_base_sigkill_timeout", seconds, 1); }
  static void processes(int n) { setenv("SELFNORM_TEST_PROCESSES", std::to_string(n).c_str(), 1); }

  // A run that goes on until it is stopped.
  static std::vector<std::string> endless(const std::string& out, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"train",
                                   "classifier",
                                   "data",
                                   "--optimiser",
                                   "adam",
                                   "--epochs",
                                   "100000",
                                   "--patience",
                                   "0",
                                   "--batch",
                                   "64",
                                   "--out",
                                   out,
                                   "--threads",
                                   "1",
                                   "--quiet",
                                   "--checkpoint-seconds",
                                   "0",
                                   "--no-report"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

INSTANTIATE_TEST_SUITE_P(Families, Jobs, testing::ValuesIn(every_family()),
                         [](const auto& family) { return family.param.name; });

TEST_P(Jobs, TrainTheSameModel) {
  const Folder folder;
  GetParam().write_data(folder);
  ASSERT_EQ(folder.run(GetParam().words("one", {"--quiet"})).code, 0);
  const std::string model = content(folder / "one/model.safetensors");
  for (const int n : {2, 3, 4}) {
    processes(n);
    const std::string out = "run" + std::to_string(n);
    const Outcome outcome = folder.run(GetParam().words(out, {"--threads", n == 3 ? "2" : "1"}));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(content(folder / (out + "/model.safetensors")), model) << n;
    EXPECT_NE(outcome.err.find(std::to_string(n) + " processes: "), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.out.find("\nmetrics  "), outcome.out.rfind("\nmetrics  ")) << outcome.out;  // said once
  }
}

using Job = Jobs;

// Killed again and again, by another number of processes each time: what is resumed comes to the same model.
TEST_F(Job, AKilledProcessEndsTheJobAndTheCheckpointIsWhole) {
  const Folder folder;
  const char* const soak = getenv("SELFNORM_SOAK");  // so many kills, of a longer run
  const int kills = soak == nullptr ? 10 : std::atoi(soak);
  const std::string epochs = std::to_string(std::max(60, 8 * kills));
  folder.generate("data", 200, 4);
  std::vector<std::string> whole = endless("whole");
  whole[6] = epochs;
  ASSERT_EQ(folder.run(whole).code, 0);
  int killed = 0;
  for (int kill_number = 0; kill_number < kills; ++kill_number) {
    processes(2 + kill_number % 3);
    std::vector<std::string> words = endless("run");
    words[6] = epochs;
    if (kill_number > 0) words.push_back("--resume");
    bool is_killed = false;
    const auto before = fs::exists(folder / "run/checkpoint.safetensors")
                            ? fs::last_write_time(folder / "run/checkpoint.safetensors")
                            : fs::file_time_type::min();
    const Outcome outcome = folder.run(words, [&](pid_t job) {
      const fs::path checkpoint = folder / "run/checkpoint.safetensors";
      std::error_code none;
      wait_for([&] {
        return fs::exists(folder / "run/model.safetensors") ||
               (fs::exists(checkpoint, none) && fs::last_write_time(checkpoint, none) > before);
      });
      const std::vector<pid_t> all = children(job);
      if (!all.empty()) is_killed = kill(all[static_cast<size_t>(kill_number) % all.size()], SIGKILL) == 0;
    });
    if (fs::exists(folder / "run/model.safetensors")) break;  // it was done first
    EXPECT_TRUE(is_killed);
    ++killed;
    EXPECT_NE(outcome.code, 0);
    EXPECT_FALSE(outcome.err.empty());
    ASSERT_TRUE(fs::exists(folder / "run/checkpoint.safetensors"));
  }
  EXPECT_TRUE(soak == nullptr || killed == kills) << killed;  // the run was long enough
  if (!fs::exists(folder / "run/model.safetensors")) {
    processes(3);
    std::vector<std::string> words = endless("run", {"--resume"});
    words[6] = epochs;
    ASSERT_EQ(folder.run(words).code, 0);
  }
  EXPECT_EQ(content(folder / "run/model.safetensors"), content(folder / "whole/model.safetensors"));
}

// A signal for one process, as Slurm's warning or Ctrl-C is for all of them, and mpirun's own end.
TEST_F(Job, ASignalLeavesACheckpointAndAllEnd) {
  patience("10");
  for (const bool to_one : {true, false}) {
    const Folder folder;
    processes(1);
    folder.generate("data", 200, 4);
    processes(3);
    std::vector<std::string> words = endless("run");
    words[15] = "--verbose";
    const Outcome outcome = folder.run(words, [&](pid_t job) {
      wait_for([&] { return fs::exists(folder / "run/checkpoint.safetensors"); });
      const std::vector<pid_t> all = children(job);
      if (to_one && all.size() == 3)
        kill(all[2], SIGTERM);
      else
        kill(job, SIGTERM);
    });
    EXPECT_NE(outcome.code, 0);
    EXPECT_TRUE(fs::exists(folder / "run/checkpoint.safetensors"));
    EXPECT_FALSE(fs::exists(folder / "run/model.safetensors"));
    EXPECT_NE(outcome.err.find("--resume"), std::string::npos) << outcome.err;
  }
}

TEST_F(Job, WhatOneProcessAloneCannotDoIsSaidOnceByIt) {
  const Folder folder;
  folder.generate("data", 100, 3);
  fs::create_directory(folder / "empty");
  processes(3);
  setenv("SELFNORM_TEST_FOLDER", "empty", 1);
  const Outcome outcome = folder.run(endless("run"));
  EXPECT_NE(outcome.code, 0);
  EXPECT_NE(outcome.err.find("process 1 of 3 on "), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("selfnorm: error: "), outcome.err.rfind("selfnorm: error: ")) << outcome.err;
  EXPECT_NE(outcome.err.find("data: "), std::string::npos) << outcome.err;
}

TEST_F(Job, WhatNoProcessCanDoIsSaidOnceByTheFirst) {
  const Folder folder;
  processes(3);
  const Outcome outcome = folder.run(endless("run"));
  EXPECT_NE(outcome.code, 0);
  EXPECT_EQ(outcome.err.find("selfnorm: error: "), outcome.err.rfind("selfnorm: error: ")) << outcome.err;
  EXPECT_EQ(outcome.err.find("process 1"), std::string::npos) << outcome.err;
}

TEST_F(Job, DifferentOptionsAreAnError) {
  const Folder folder;
  folder.generate("data", 100, 3);
  processes(2);
  setenv("SELFNORM_TEST_EXTRA", "--seed 7", 1);
  const Outcome outcome = folder.run(endless("run"));
  EXPECT_NE(outcome.code, 0);
  EXPECT_NE(outcome.err.find("the processes differ in command and options"), std::string::npos)
      << outcome.err;
  EXPECT_EQ(outcome.err.find("selfnorm: error: "), outcome.err.rfind("selfnorm: error: ")) << outcome.err;
}

TEST_F(Job, DifferentVersionsAreAnError) {
  const Folder folder;
  folder.generate("data", 100, 3);
  processes(2);
  setenv("SELFNORM_TEST_OTHER", SELFNORM_ANOTHER_VERSION, 1);
  const Outcome outcome = folder.run(endless("run"));
  EXPECT_NE(outcome.code, 0);
  EXPECT_NE(outcome.err.find("the processes differ in version"), std::string::npos) << outcome.err;
}

TEST_F(Job, DifferentDataAreAnError) {
  const Folder folder;
  folder.generate("data", 100, 3);
  fs::create_directory(folder / "other");
  std::ofstream(folder / "other/data")
      << content(folder / "data")
             .substr(0, content(folder / "data").rfind('\n', content(folder / "data").size() - 2) + 1);
  processes(2);
  setenv("SELFNORM_TEST_FOLDER", "other", 1);
  const Outcome outcome = folder.run(endless("run"));
  EXPECT_NE(outcome.code, 0);
  EXPECT_NE(outcome.err.find("the processes differ in the data"), std::string::npos) << outcome.err;
}

// Also where nothing is trained by steps.
TEST_F(Job, DifferentDataAreAnErrorOfFits) {
  const Folder folder;
  fs::create_directory(folder / "other");
  write_lumps(folder, "data", 80, 1);
  write_lumps(folder, "other/data", 80, 2);
  processes(2);
  setenv("SELFNORM_TEST_FOLDER", "other", 1);
  for (const std::vector<std::string>& how :
       {std::vector<std::string>{"--objective", "fit", "--hold-out", "0.5"},
        {"--objective", "fit", "--proposal", "mixture:3"},
        {"--energy", "gaussian"}}) {
    std::vector<std::string> words{"train", "density", "data",      "--format", "csv",
                                   "--out", "run",     "--threads", "1",        "--no-report"};
    words.insert(words.end(), how.begin(), how.end());
    const Outcome outcome = folder.run(words);
    EXPECT_NE(outcome.code, 0) << how[1];
    EXPECT_NE(outcome.err.find("the processes differ in the data;"), std::string::npos) << outcome.err;
    EXPECT_FALSE(fs::exists(folder / "run/model.safetensors")) << how[1];
  }
}

// A file may have any name.
TEST_F(Job, NamesThatAreNotUtf8) {
  const Folder folder;
  folder.generate("data\xff", 100, 3);
  fs::copy(folder / "data\xff", folder / "data\xfe");
  processes(2);
  std::vector<std::string> words{"train", "classifier", "data\xff", "--quiet", "--no-report", "--out", "run"};
  const Outcome outcome = folder.run(words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  words.back() = "other";
  words.insert(words.end(), {"--valid", "data\xff"});
  setenv("SELFNORM_TEST_EXTRA", "--valid data\xfe", 1);
  const Outcome other = folder.run(words);
  EXPECT_NE(other.code, 0);
  EXPECT_NE(other.err.find("the processes differ in command and options"), std::string::npos) << other.err;
}

TEST_F(Job, CommandsOfOneProcessAreRefused) {
  const Folder folder;
  processes(2);
  const Outcome outcome = folder.run({"data", "generate", "--out", "more", "--rows", "10"});
  EXPECT_NE(outcome.code, 0);
  EXPECT_NE(outcome.err.find("'selfnorm data generate' is work of one"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("selfnorm: error: "), outcome.err.rfind("selfnorm: error: ")) << outcome.err;
}

// Processes share the rows; the first one says it all, in the order of the rows.
TEST_F(Job, ModelsAreJudgedTogether) {
  const Folder folder;
  folder.generate("data", 3000, 5);
  ASSERT_EQ(folder.run({"train", "classifier", "data", "--quiet", "--no-report", "--out", "run"}).code, 0);
  for (const std::vector<std::string>& words : {std::vector<std::string>{"evaluate", "run", "data"},
                                                {"score", "run", "data"},
                                                {"score", "run", "data", "--top", "2", "--exact"},
                                                {"audit", "run", "data", "--report", "page.html"}}) {
    processes(1);
    const Outcome one = folder.run(words);
    ASSERT_EQ(one.code, 0) << one.err;
    EXPECT_FALSE(one.out.empty());
    const std::string page = words[0] == "audit" ? content(folder / "page.html") : "";
    for (const int n : {2, 3}) {
      processes(n);
      const Outcome outcome = folder.run(words);
      EXPECT_EQ(outcome.code, 0) << outcome.err;
      EXPECT_EQ(outcome.out, one.out) << words[0] << " by " << n;
      EXPECT_EQ(outcome.err, one.err) << words[0] << " by " << n;
      if (words[0] == "audit") {
        EXPECT_EQ(content(folder / "page.html"), page);
      }
    }
  }
  expect_user_error(
      [&] {
        processes(1);
        return folder.run({"launch", "-n", "2", "--", "predict", "run", "data"});
      }(),
      "work of one process");
}

TEST_F(Job, LaunchStartsIt) {
  const Folder folder;
  folder.generate("data", 120, 4);
  ASSERT_EQ(folder.run({"train", "classifier", "data", "--quiet", "--no-report", "--out", "one"}).code, 0);
  const Outcome outcome =
      folder.run({"launch", "-n", "2", "--", "train", "classifier", "data", "--no-report", "--out", "two"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("2 processes: "), std::string::npos) << outcome.err;
  EXPECT_EQ(content(folder / "two/model.safetensors"), content(folder / "one/model.safetensors"));
  expect_user_error(folder.run({"launch", "-n", "2"}), "expected a command");
  expect_user_error(folder.run({"launch", "-n", "2", "--", "info", "m"}), "expected train");
  expect_user_error(folder.run({"launch", "-n", "5000", "--", "train", "lm", "d"}), "expected 1 to 1024");
  setenv("SELFNORM_MPIRUN", "/bin/true", 1);
  expect_user_error(folder.run({"launch", "-n", "2", "--", "train", "lm", "d"}), "not the mpirun");
  unsetenv("SELFNORM_MPIRUN");
}

TEST_F(Job, MpichStartsItToo) {
  if (std::string(SELFNORM_MPICH_MODULE).empty()) GTEST_SKIP() << "no mpicc.mpich (Debian: libmpich-dev)";
  const Folder folder;
  folder.generate("data", 120, 4);
  const std::vector<std::string> train{"train", "classifier", "data", "--no-report", "--out"};
  const auto run = [&](std::vector<std::string> start, const std::string& out) {
    start.insert(start.end(), train.begin(), train.end());
    start.push_back(out);
    return folder.run(start);
  };
  ASSERT_EQ(run({}, "one").code, 0);
  setenv("SELFNORM_MPIRUN", SELFNORM_MPICH_MPIEXEC, 1);
  const Outcome mistaken = run({"launch", "-n", "2", "--"}, "two");
  EXPECT_NE(mistaken.code, 0);
  EXPECT_NE(mistaken.err.find("started 2 processes, but MPI knows of 1"), std::string::npos) << mistaken.err;
  setenv("SELFNORM_MPI_MODULE", SELFNORM_MPICH_MODULE, 1);
  const Outcome outcome = run({"launch", "-n", "3", "--"}, "three");
  const Outcome failed = folder.run({"launch", "-n", "3", "--", "train", "classifier", "nothing"});
  unsetenv("SELFNORM_MPI_MODULE");
  unsetenv("SELFNORM_MPIRUN");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("3 processes: "), std::string::npos) << outcome.err;
  EXPECT_EQ(content(folder / "three/model.safetensors"), content(folder / "one/model.safetensors"));
  EXPECT_NE(failed.code, 0);
  const size_t first = failed.err.find("cannot read nothing");
  ASSERT_NE(first, std::string::npos) << failed.err;
  EXPECT_EQ(failed.err.find("cannot read nothing", first + 1), std::string::npos) << failed.err;
}

// Of an mpirun that says what it was told.
TEST_F(Job, LaunchLeavesThreadsThatAreSaid) {
  const Folder folder;
  folder.write("mpirun", "#!/bin/sh\necho \"Open MPI $*\"\n");
  fs::permissions(folder / "mpirun", fs::perms::owner_all);
  setenv("SELFNORM_MPIRUN", (folder / "mpirun").c_str(), 1);
  const auto told = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"launch", "-n", "2", "--", "train", "lm", "d"};
    words.insert(words.end(), more.begin(), more.end());
    const std::string out = folder.run(words).out;
    return out.substr(out.find(" train lm d") + 1);
  };
  EXPECT_EQ(told({"--threads=3"}), "train lm d --threads=3\n");
  EXPECT_EQ(told({"--threads", "3"}), "train lm d --threads 3\n");
  EXPECT_TRUE(told({"--out", "r"}).starts_with("train lm d --out r --threads "));
  unsetenv("SELFNORM_MPIRUN");
}

TEST_F(Job, StandardInputAndGpusAreRefused) {
  const Folder folder;
  processes(2);
  for (const auto& [words, text] : {std::pair{std::vector<std::string>{"-"}, "standard input reaches one"},
                                    {{"data", "--device", "cuda"}, "use --device cpu"}}) {
    std::vector<std::string> all{"train", "classifier"};
    all.insert(all.end(), words.begin(), words.end());
    const Outcome outcome = folder.run(all);
    EXPECT_NE(outcome.code, 0);
    EXPECT_NE(outcome.err.find(text), std::string::npos) << outcome.err;
  }
}

// The first process makes the cache, the others map it; where they do not see it they make their own.
TEST_F(Job, RowsOfACacheAreShared) {
  const Folder folder;
  folder.generate("data", 700, 5);
  const auto train = [&](const std::string& out, const std::vector<std::string>& more) {
    std::vector<std::string> words{"train",       "classifier", "data",      "--optimiser", "adagrad",
                                   "--epochs",    "2",          "--threads", "1",           "--quiet",
                                   "--no-report", "--out",      out};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = folder.run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return content(folder / (out + "/model.safetensors"));
  };
  const std::string expected = train("memory", {});
  const std::string answers = folder.run({"score", "memory", "data"}).out;
  for (const int n : {1, 2, 3, 4}) {
    processes(n);
    const std::string cache = "rows" + std::to_string(n);
    for (const char* run : {"a", "b"})
      EXPECT_EQ(train(run + std::to_string(n), {"--cache", cache}), expected) << n;
    EXPECT_EQ(files_of(folder / cache).size(), 2u) << n;  // all rows, and their parts
    EXPECT_EQ(folder.run({"score", "memory", "data", "--cache", "scored" + std::to_string(n)}).out, answers);
  }
  fs::create_directory(folder / "elsewhere");
  fs::copy_file(folder / "data", folder / "elsewhere/data");
  setenv("SELFNORM_TEST_FOLDER", "elsewhere", 1);
  processes(2);
  EXPECT_EQ(train(folder / "there", {"--cache", "own"}), expected);
  EXPECT_EQ(files_of(folder / "own").size(), 2u);
  EXPECT_EQ(files_of(folder / "elsewhere/own").size(), 2u);
  // Where the disk of one of them is full.
  fs::create_directory(folder / "elsewhere/full");
  const std::string small = folder / "elsewhere/full";
  if (::mount("none", small.c_str(), "tmpfs", 0, "size=16k") != 0) GTEST_SKIP() << "needs root";
  const Outcome full =
      folder.run({"train", "classifier", "data", "--cache", "full", "--out", folder / "full-run"});
  const bool has_nothing = files_of(small).empty();
  ::umount2(small.c_str(), MNT_DETACH);
  EXPECT_NE(full.code, 0);
  EXPECT_NE(full.err.find("No space left on device"), std::string::npos) << full.err;
  EXPECT_EQ(full.err.find("selfnorm: error: "), full.err.rfind("selfnorm: error: ")) << full.err;
  EXPECT_TRUE(has_nothing);
  EXPECT_FALSE(fs::exists(folder / "full-run/model.safetensors"));
}

// Fewer rows than processes.
TEST_F(Job, MoreProcessesThanRows) {
  const Folder folder;
  folder.write("data", "a 1:1\nb 2:1\na 1:2\n");
  std::vector<std::string> models;
  for (const int n : {1, 4}) {
    processes(n);
    const std::string out = "run" + std::to_string(n);
    const Outcome outcome = folder.run(
        {"train", "classifier", "data", "--quiet", "--no-report", "--hold-out", "0", "--out", out});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    models.push_back(content(folder / (out + "/model.safetensors")));
  }
  EXPECT_EQ(models[0], models[1]);
}

}  // namespace
}  // namespace selfnorm::cli
