// Classes that are split over processes (model/class_shard.h), through the built program: the same model for
// any number of processes, in as many files, read as one.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/program.h"
#include "model/model_file.h"
#include "mpi/job_processes.h"
#include "selfnorm/runtime/mapped_file.h"

namespace selfnorm::cli {
namespace {

namespace fs = std::filesystem;

using Words = std::vector<std::string>;
constexpr const char* kIndex = "/model.safetensors.index.json";

// Of the weights in the i-th part of a model.
uint64_t rows_of(const std::string& file, int i) {
  const runtime::MappedFile map(file);
  const runtime::Safetensors part = runtime::parse_safetensors(map.bytes(), file);
  const runtime::Tensor* weight = part.find(fmt::format("weight.{}", i));
  return weight == nullptr ? UINT64_MAX : weight->shape[0];
}

class Shards : public testing::Test {
 protected:
  void SetUp() override {
    setenv("SELFNORM_TEST_PROGRAM", SELFNORM_REAL_PROGRAM, 1);
    for (const char* name : {"SELFNORM_TEST_EXTRA", "SELFNORM_TEST_FOLDER", "SELFNORM_TEST_OTHER"})
      unsetenv(name);
    setenv("OMPI_MCA_odls_base_sigkill_timeout", "2", 1);
    processes(1);
  }
  static void processes(int n) { setenv("SELFNORM_TEST_PROCESSES", std::to_string(n).c_str(), 1); }

  static Words training(const std::string& data, const std::string& out, const Words& more) {
    Words words{"train", "classifier", data, "--shard", "classes",     "--out",
                out,     "--threads",  "1",  "--quiet", "--no-report", "--no-ladder"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static std::string part(const std::string& run, int i, int n) {
    return fmt::format("{}/model-{:05}-of-{:05}.safetensors", run, i, n);
  }
};

// Rows of both kinds of data; every way of training that splits classes.
TEST_F(Shards, AnyNumberOfProcessesTrainTheSameModel) {
  const Folder folder;
  folder.generate("sparse", 300, 11);
  std::string table = "a,b,c,y\n";
  for (int i = 0; i < 200; ++i)
    table += fmt::format("{},{},{},k{}\n", i % 7, i * i % 11, i % 5 - i % 3, i * i % 9);
  folder.write("dense.csv", table);
  const std::vector<std::pair<std::string, Words>> cases{
      {"sparse", {"--objective", "penalty", "--learn-centre", "--l1", "0.0001"}},
      {"sparse", {"--objective", "exact", "--optimiser", "adam", "--weights", "int8"}},
      {"dense.csv", {"--objective", "penalty", "--arithmetic", "double", "--weights", "bfloat16"}},
      {"sparse", {"--encoder", "bag", "--dimension", "6", "--objective", "exact"}},
      {"sparse",
       {"--encoder", "bag", "--dimension", "6", "--hidden", "5", "--objective", "penalty", "--learn-centre",
        "--dropout", "0.2", "--l2", "0.001"}},
      {"sparse", {"--encoder", "bag", "--dimension", "6", "--objective", "nce", "--samples", "7"}},
      {"sparse",
       {"--encoder", "bag", "--dimension", "6", "--objective", "snl", "--samples", "7", "--normalizer",
        "linear"}},
      {"sparse", {"--encoder", "bag", "--dimension", "6", "--objective", "is", "--proposal", "in-batch"}}};
  for (size_t c = 0; c < cases.size(); ++c) {
    auto [data, more] = cases[c];
    for (const char* word : {"--epochs", "2", "--batch", "90"}) more.push_back(word);
    const std::string name = "run" + std::to_string(c) + "-";
    processes(1);
    ASSERT_EQ(folder.run(training(data, name + "1", more)).code, 0) << c;
    const ModelFile one = load_model(folder / (name + "1/model.safetensors"));
    EXPECT_NE(one.weight, std::vector<float>(one.weight.size())) << c;
    for (const int n : {2, 3, 4}) {
      processes(n);
      const std::string run = name + std::to_string(n);
      const Outcome outcome = folder.run(training(data, run, more));
      ASSERT_EQ(outcome.code, 0) << outcome.err;
      EXPECT_EQ(load_model(folder / (run + kIndex)), one) << c << " by " << n;
      EXPECT_FALSE(fs::exists(folder / (run + "/model.safetensors")));
      for (int i = 1; i <= n; ++i) EXPECT_LE(rows_of(folder / part(run, i, n), i), one.classes / n + 1) << c;
    }
  }
}

// Also where there are more processes than classes.
TEST_F(Shards, CommandsReadThemAsOneModel) {
  const Folder folder;
  for (const int classes : {2, 12}) {
    folder.generate("data", 200, classes);
    const std::string one = fmt::format("one{}", classes), run = fmt::format("run{}", classes);
    processes(1);
    ASSERT_EQ(folder.run(training("data", one, {"--epochs", "2"})).code, 0);
    processes(4);
    ASSERT_EQ(folder.run(training("data", run, {"--epochs", "2"})).code, 0);
    processes(1);
    for (const Words& words :
         {Words{"score", "MODEL", "data", "--top", "2"}, Words{"evaluate", "MODEL", "data", "--json"},
          Words{"predict", "MODEL", "data"}, Words{"audit", "MODEL", "data", "--json", "--no-report"}}) {
      const auto of = [&](const std::string& model) {
        Words own = words;
        own[1] = model;
        const Outcome outcome = folder.run(own);
        EXPECT_EQ(outcome.code, 0) << words[0] << ": " << outcome.err;
        std::string out = outcome.out;
        for (const std::string& name : {one + "/model.safetensors", run + kIndex, one, run})
          for (size_t at = out.find(name); at != std::string::npos; at = out.find(name))
            out.replace(at, name.size(), "MODEL");
        return out;
      };
      const std::string expected = of(one);
      EXPECT_FALSE(expected.empty());
      EXPECT_EQ(of(run), expected) << words[0];
      EXPECT_EQ(of(run + kIndex), expected) << words[0];
    }
    const auto normalized = [&](const std::string& model, const std::string& written) {
      const Outcome outcome = folder.run({"normalize", model, "--states", "data", "--quiet"});
      EXPECT_EQ(outcome.code, 0) << outcome.err;
      const ModelFile out = load_model(folder / (written + "/model-normalized.safetensors"));
      fs::remove(folder / (written + "/model-normalized.safetensors"));
      return out;
    };
    const ModelFile expected = normalized(one, one);
    EXPECT_EQ(normalized(run, run).weight, expected.weight);
    EXPECT_EQ(normalized(run + kIndex, run).weight, expected.weight);
    EXPECT_EQ(folder.run({"info", run, "--verify", "--json"}).json()["checksum"], "matches");
  }
}

TEST_F(Shards, AnotherNumberOfProcessesResumes) {
  for (const Words& how :
       {Words{"--encoder", "bag", "--dimension", "6", "--objective", "penalty", "--l2", "0.001"},
        Words{"--objective", "penalty", "--optimiser", "adam", "--learn-centre"}}) {
    const Folder folder;
    processes(1);
    folder.generate("data", 300, 10);
    Words more = how;
    for (const char* word : {"--epochs", "400", "--batch", "50", "--patience", "0"}) more.push_back(word);
    Words always = more;  // a checkpoint after every step
    for (const char* word : {"--checkpoint-seconds", "0"}) always.push_back(word);
    ASSERT_EQ(folder.run(training("data", "whole", more)).code, 0);
    processes(3);
    const auto checkpoint = folder / "run/checkpoint.safetensors";
    const Outcome stopped = folder.run(training("data", "run", always), [&](pid_t job) {
      wait_for([&] { return fs::exists(checkpoint); });
      for (const pid_t process : children(job)) kill(process, SIGTERM);  // mpirun would take its time
    });
    ASSERT_NE(stopped.code, 0);
    ASSERT_TRUE(fs::exists(checkpoint));
    EXPECT_FALSE(fs::exists(folder / (std::string("run") + kIndex)));
    processes(2);
    for (const char* word : {"--checkpoint-seconds", "60", "--resume"}) more.push_back(word);
    const Outcome resumed = folder.run(training("data", "run", more));
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_EQ(load_model(folder / (std::string("run") + kIndex)),
              load_model(folder / "whole/model.safetensors"));
  }
}

// A process at a time, at any moment of a step, of the writing of a part or of the index; another number of
// processes goes on. At any moment there is a whole generation.
TEST_F(Shards, KilledProcessesLoseNoCheckpoint) {
  constexpr int kKills = 12;
  const Folder folder;
  folder.generate("data", 200, 9);
  const auto words = [&](const std::string& out, const Words& more) {
    Words all{"--encoder", "bag",      "--dimension", "6",       "--objective", "nce",        "--samples",
              "5",         "--epochs", "250",         "--batch", "50",          "--patience", "0"};
    all.insert(all.end(), more.begin(), more.end());
    return training("data", out, all);
  };
  ASSERT_EQ(folder.run(words("whole", {})).code, 0);
  const fs::path checkpoint = folder / "run/checkpoint.safetensors";
  int killed = 0;
  uint32_t random = 12345;
  for (int at = 0; at < kKills; ++at) {
    processes(2 + at % 3);
    std::error_code none;
    const auto before = fs::exists(checkpoint) ? fs::last_write_time(checkpoint) : fs::file_time_type::min();
    bool is_killed = false;
    const Outcome outcome = folder.run(
        words("run",
              at > 0 ? Words{"--checkpoint-seconds", "0", "--resume"} : Words{"--checkpoint-seconds", "0"}),
        [&](pid_t job) {
          wait_for([&] {
            return fs::exists(folder / (std::string("run") + kIndex)) ||
                   (fs::exists(checkpoint, none) && fs::last_write_time(checkpoint, none) > before);
          });
          random = random * 1664525 + 1013904223;
          usleep(random >> 19);  // up to 8 ms: a few steps and the checkpoints between them
          const std::vector<pid_t> all = children(job);
          if (!all.empty()) is_killed = kill(all[static_cast<size_t>(at) % all.size()], SIGKILL) == 0;
        });
    if (!is_killed || outcome.code == 0) break;  // the run has ended: too few are an error below
    ASSERT_TRUE(fs::exists(checkpoint)) << outcome.err;
    ++killed;
  }
  EXPECT_GE(killed, 10);
  processes(3);
  const Outcome resumed = folder.run(words("run", {"--checkpoint-seconds", "60", "--resume"}));
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(load_model(folder / (std::string("run") + kIndex)),
            load_model(folder / "whole/model.safetensors"));
  for (const std::string& name : files_of(folder / "run"))
    EXPECT_FALSE(name.starts_with("checkpoint") || name.starts_with("unfinished")) << name;
}

TEST_F(Shards, ACheckpointWithoutAPartIsRefused) {
  const Folder folder;
  folder.generate("data", 200, 9);
  processes(2);
  const Words more{"--epochs", "100000", "--batch", "50", "--checkpoint-seconds", "0", "--patience", "0"};
  const auto checkpoint = folder / "run/checkpoint.safetensors";
  folder.run(training("data", "run", more), [&](pid_t job) {
    wait_for([&] { return fs::exists(checkpoint); });
    for (const pid_t process : children(job)) kill(process, SIGTERM);
  });
  std::string part;
  for (const std::string& name : files_of(folder / "run"))
    if (name.ends_with("-00002-of-00002.safetensors")) part = folder / ("run/" + name);
  ASSERT_NE(part, "");
  Words again = training("data", "run", more);
  again.push_back("--resume");
  const std::string whole = content(part);
  processes(1);
  std::ofstream(part, std::ios::binary) << whole.substr(0, whole.size() - 4) << "abcd";
  expect_user_error(folder.run(again), "the checksum does not match");
  fs::remove(part);
  expect_user_error(folder.run(again), "expected all 2 parts of");
  for (const int n : {1, 3}) {  // a new run in its place
    processes(n);
    const Outcome outcome = folder.run(training("data", "run", {"--epochs", "1", "--overwrite"}));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    for (const std::string& name : files_of(folder / "run"))
      EXPECT_FALSE(name.starts_with("checkpoint")) << name;
  }
}

// Labels that are numbers need no row each; nor a table.
TEST_F(Shards, ClassesThatAreNumbers) {
  const Folder folder;
  std::string rows;
  for (int i = 0; i < 200; ++i) rows += fmt::format("{} {}:1 {}:1\n", i * i % 1999, 1 + i % 7, 8 + i % 5);
  folder.write("data", rows);
  const Words more{"--classes",   "2000", "--encoder", "bag", "--dimension", "4",
                   "--objective", "nce",  "--samples", "9",   "--epochs",    "2"};
  ASSERT_EQ(folder.run(training("data", "one", more)).code, 0);
  processes(4);
  ASSERT_EQ(folder.run(training("data", "run", more)).code, 0);
  const ModelFile one = load_model(folder / "one/model.safetensors");
  EXPECT_EQ(one.classes, 2000u);
  EXPECT_EQ(load_model(folder / (std::string("run") + kIndex)), one);
  const Words request{"score", "run", "data", "--candidates", "0,1999,17", "--raw"};
  const Outcome together = folder.run(request);
  processes(1);
  const Outcome alone = folder.run(request);
  ASSERT_EQ(alone.code, 0) << alone.err;
  EXPECT_EQ(together.out, alone.out);
  expect_user_error(folder.run({"score", "run", "data", "--candidates", "2000"}), "is not a label of");
  // What needs all classes leaves the weights in the files, and shares the classes.
  const auto mean = [](const std::string& table) {
    double sum = 0, log_prob = 0;
    std::string line, row, label;
    std::istringstream lines(table);
    while (std::getline(lines, line))
      if (std::istringstream fields(line); fields >> row >> label >> log_prob) sum += log_prob;
    return sum / 200;
  };
  const double expected = folder.run({"evaluate", "one", "data", "--json"}).json()["nll_exact"];
  const std::string scores = folder.run({"score", "run", "data", "--exact"}).out;
  const std::string evaluation = folder.run({"evaluate", "run", "data", "--json"}).out;
  EXPECT_NEAR(nlohmann::json::parse(evaluation)["nll_exact"], expected, 1e-5);
  EXPECT_NEAR(mean(scores), -expected, 1e-5);
  for (const int n : {2, 4}) {
    processes(n);
    EXPECT_EQ(folder.run({"score", "run", "data", "--exact"}).out, scores);
    EXPECT_EQ(folder.run({"evaluate", "run", "data", "--json"}).out, evaluation);
  }
  processes(1);
  Words few = training("data", "few", more);
  few[std::find(few.begin(), few.end(), "2000") - few.begin()] = "100";
  expect_user_error(folder.run(few), "expected a whole number from 0 to 99");
}

// The parts of a model that is written over another have names of their own until the index names them, so
// that a kill between the two leaves the one or the other.
TEST_F(Shards, PartsOfTwoModelsAreNotMixed) {
  const Folder folder;
  folder.generate("data", 200, 12);
  processes(2);
  for (int i = 0; i < 2; ++i)
    ASSERT_EQ(folder.run(training("data", "run", {"--epochs", "2", "--overwrite"})).code, 0);
  EXPECT_TRUE(fs::exists(folder / "run/model-00001-of-00002.2.safetensors"));
  EXPECT_FALSE(fs::exists(folder / "run/model-00001-of-00002.safetensors"));
  fs::copy_file(folder / "run/model-00001-of-00002.2.safetensors",
                folder / "run/model-00001-of-00002.3.safetensors");  // as a kill leaves it
  const ModelFile model = load_model(folder / (std::string("run") + kIndex));
  processes(1);
  EXPECT_EQ(folder.run({"evaluate", "run", "data"}).code, 0);
  processes(2);
  ASSERT_EQ(folder.run(training("data", "run", {"--epochs", "2", "--overwrite"})).code, 0);
  EXPECT_EQ(load_model(folder / (std::string("run") + kIndex)), model);
  EXPECT_TRUE(fs::exists(folder / "run/model-00001-of-00002.safetensors"));
  for (const char* version : {"2", "3"})
    EXPECT_FALSE(fs::exists(folder / fmt::format("run/model-00001-of-00002.{}.safetensors", version)));
}

TEST_F(Shards, WhatIsMissingOrDamagedIsNamed) {
  const Folder folder;
  folder.generate("data", 200, 12);
  processes(3);
  ASSERT_EQ(folder.run(training("data", "run", {"--epochs", "1"})).code, 0);
  processes(1);
  const std::string second = folder / part("run", 2, 3), whole = content(second);
  expect_user_error(folder.run({"evaluate", part("run", 2, 3), "data"}), "\"shard\"");
  std::string damaged = whole;
  damaged[damaged.size() - 3] ^= 1;
  std::ofstream(second, std::ios::binary) << damaged;
  expect_user_error(folder.run({"evaluate", "run", "data"}), "checksum");
  std::ofstream(second, std::ios::binary) << content(folder / part("run", 3, 3));
  expect_user_error(folder.run({"evaluate", "run", "data"}), "the shards are not those of this index");
  fs::remove(second);
  expect_user_error(folder.run({"score", "run", "data"}), "model-00002-of-00003.safetensors: cannot open");
}

// A run of shards in the place of a run without, and the other way round: nothing of the one before is left.
TEST_F(Shards, OneModelIsLeftInARun) {
  const Folder folder;
  folder.generate("data", 200, 12);
  for (const int n : {1, 3, 2, 1}) {
    processes(n);
    const Outcome outcome = folder.run(training("data", "run", {"--epochs", "1", "--overwrite"}));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    size_t models = 0;
    for (const std::string& name : files_of(folder / "run")) models += name.starts_with("model") ? 1 : 0;
    EXPECT_EQ(models, n == 1 ? 1u : static_cast<size_t>(n) + 1);
    processes(1);
    EXPECT_EQ(folder.run({"evaluate", "run", "data"}).code, 0);
  }
}

// A process that cannot write its part: the run before is as it was, and nothing of the new one is left.
TEST_F(Shards, TheModelBeforeStaysUntilAllIsWritten) {
  const Folder folder;
  folder.generate("data", 200, 12);
  processes(3);
  ASSERT_EQ(folder.run(training("data", "run", {"--epochs", "1"})).code, 0);
  const std::vector<std::string> before = files_of(folder / "run");
  const ModelFile model = load_model(folder / (std::string("run") + kIndex));
  fs::create_directory(folder / part("run", 2, 2));
  processes(2);
  const Outcome outcome = folder.run(training("data", "run", {"--epochs", "2", "--overwrite"}));
  EXPECT_NE(outcome.code, 0);
  EXPECT_NE(outcome.err.find("model-00002-of-00002.safetensors: it is a directory"), std::string::npos)
      << outcome.err;
  fs::remove(folder / part("run", 2, 2));
  EXPECT_EQ(files_of(folder / "run"), before);
  EXPECT_EQ(load_model(folder / (std::string("run") + kIndex)), model);
}

// What a killed run was writing goes with the next one; another program's model is left alone.
TEST_F(Shards, OnlyOwnFilesAreRemoved) {
  const Folder folder;
  folder.generate("data", 200, 12);
  fs::create_directory(folder / "hf");
  const std::vector<std::string> theirs{"model-00001-of-00002.safetensors",
                                        "model-00002-of-00002.safetensors", "model.safetensors.index.json",
                                        "unfinished.txt"};
  for (const std::string& name : theirs) folder.write("hf/" + name, "their " + name);
  folder.write("hf" + std::string(kIndex),
               R"({"metadata": {"total_size": 8}, "weight_map": {"a": "model-00001-of-00002.safetensors",)"
               R"( "b": "model-00002-of-00002.safetensors"}})");
  for (const int n : {1, 2}) {
    processes(n);
    const Outcome outcome = folder.run(training("data", "hf", {"--epochs", "1", "--overwrite"}));
    EXPECT_NE(outcome.code, 0);
    EXPECT_NE(outcome.err.find("a model that selfnorm did not write"), std::string::npos) << outcome.err;
    EXPECT_EQ(files_of(folder / "hf"), theirs);
  }
  fs::remove(folder / ("hf" + std::string(kIndex)));
  for (const char* name : {"unfinished.safetensors.index.json", "unfinished-00001-of-00002.safetensors",
                           "unfinished-00002-of-00002.safetensors.tmp-99-0"})
    folder.write(std::string("hf/") + name, "half");
  processes(1);
  ASSERT_EQ(folder.run(training("data", "hf", {"--epochs", "1"})).code, 0);
  for (const std::string& name : files_of(folder / "hf"))
    EXPECT_TRUE(!name.starts_with("unfinished") || name == "unfinished.txt") << name;
  EXPECT_TRUE(fs::exists(folder / "hf/model-00001-of-00002.safetensors"));
}

TEST_F(Shards, WhatCannotBeSplitIsSaid) {
  const Folder folder;
  folder.generate("data", 60, 3);
  const auto error = [&](const Words& more, const std::string& text) {
    expect_user_error(folder.run(training("data", "run", more)), text);
  };
  error({"--objective", "snl"}, "--encoder bag");
  error({"--objective", "constraint", "--delta", "0.1"}, "use exact or penalty");
  error({"--device", "cuda"}, "use --device cpu");
  error({"--optimiser", "lbfgs"}, "use adagrad or adam");
  error({"--encoder", "bag", "--objective", "hierarchical"}, "use exact or penalty");
  error({"--encoder", "bag", "--objective", "nce", "--proposal-sharing", "example"},
        "use --proposal-sharing batch");
}

}  // namespace
}  // namespace selfnorm::cli
