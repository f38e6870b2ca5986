// Rows that are read from a cache on disk (data/dataset_cache.h), through the program: the same results.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "cli/program.h"

namespace selfnorm::cli {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

Words training(const std::string& out, const Words& more) {
  Words words{"train", "classifier", "data.svm", "--out", out, "--quiet", "--no-report"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

class DataCache : public testing::Test {
 protected:
  DataCache() { folder_.generate("data.svm", 600, 5); }
  std::string model(const std::string& run) const { return content(folder_ / (run + "/model.safetensors")); }
  void expect_done(const Words& words) const {
    const Outcome outcome = folder_.run(words);
    EXPECT_EQ(outcome.code, 0) << words[0] << ": " << outcome.err;
  }

  const Folder folder_;
};

TEST_F(DataCache, EveryTrainingGivesTheModelOfMemory) {
  const std::vector<Words> ways{
      {},
      {"--objective", "exact", "--optimiser", "lbfgs", "--steps", "5"},
      {"--optimiser", "adagrad", "--epochs", "2", "--batch", "32"},
      {"--objective", "nce", "--samples", "3", "--epochs", "2"},
      {"--class-weight", "balanced", "--optimiser", "adagrad", "--epochs", "1"},
      {"--hold-out", "0", "--optimiser", "adam", "--epochs", "1"},
      {"--valid", "data.svm", "--optimiser", "adagrad", "--epochs", "1"},
      {"--shard", "classes", "--epochs", "1"},
      {"--encoder", "bag", "--dimension", "4", "--epochs", "1"},
      {"--encoder", "bag", "--dimension", "4", "--objective", "nce", "--samples", "3", "--epochs", "1"}};
  for (size_t i = 0; i < ways.size(); ++i) {
    const std::string here = "m" + std::to_string(i), there = "c" + std::to_string(i),
                      again = "d" + std::to_string(i);
    Words cached = ways[i];
    for (const char* word : {"--cache", "rows"}) cached.emplace_back(word);
    expect_done(training(here, ways[i]));
    expect_done(training(there, cached));
    expect_done(training(again, cached));
    EXPECT_EQ(model(there), model(here)) << i;
    EXPECT_EQ(model(again), model(here)) << i;
  }
}

TEST_F(DataCache, CommandsSayTheSame) {
  expect_done(training("run", {"--epochs", "1", "--optimiser", "adagrad"}));
  folder_.generate("more.svm", 200, 5);
  const std::string unseen = content(folder_ / "more.svm") + "77 1:1\n";
  folder_.write("more.svm", unseen);
  for (const Words& words :
       {Words{"evaluate", "run", "more.svm", "--json"}, Words{"score", "run", "data.svm"},
        Words{"score", "run", "more.svm", "--top", "2"},
        Words{"audit", "run", "more.svm", "--json", "--no-report"}}) {
    Words cached = words;
    for (const char* word : {"--cache", "rows"}) cached.emplace_back(word);
    const Outcome here = folder_.run(words);
    EXPECT_EQ(here.code, 0) << here.err;
    for (int round = 0; round < 2; ++round) {
      const Outcome there = folder_.run(cached);
      EXPECT_EQ(there.code, 0) << there.err;
      EXPECT_EQ(there.out, here.out) << words[0];
    }
  }
  const auto normalized = [&](const Words& more) {
    Words words{"normalize", "run", "--states", "data.svm", "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    expect_done(words);
    return content(folder_ / "run/model-normalized.safetensors");
  };
  const std::string here = normalized({});
  EXPECT_EQ(normalized({"--cache", "rows"}), here);
}

// A run resumes from the text, the cache, and a cache that is gone.
TEST_F(DataCache, ResumesFromEither) {
  const Words how{"--optimiser", "adagrad", "--epochs", "200", "--patience", "0"};
  expect_done(training("whole", how));
  Words cached = how;
  for (const char* word : {"--checkpoint-seconds", "0", "--cache", "rows"}) cached.emplace_back(word);
  const auto interrupt = [&](const Words& words) {
    return folder_.run(words, [&](pid_t id) {
      while (!fs::exists(folder_ / "part/checkpoint.safetensors") && ::kill(id, 0) == 0 &&
             !fs::exists(folder_ / "part/model.safetensors"))
        ::usleep(1000);
      ::kill(id, SIGTERM);
    });
  };
  interrupt(training("part", cached));
  ASSERT_FALSE(fs::exists(folder_ / "part/model.safetensors"));
  fs::remove_all(folder_ / "rows");
  expect_done({"train", "classifier", "--resume", "--out", "part", "--quiet"});
  EXPECT_EQ(model("part"), model("whole"));
}

// Of two seeds, with rows that nobody has made before.
TEST_F(DataCache, RunsShareItAtOnce) {
  const Words how{"--epochs", "1", "--optimiser", "adagrad", "--threads", "1"};
  Words cached = how;
  for (const char* word : {"--cache", "rows"}) cached.emplace_back(word);
  const auto with_seed = [](Words words, size_t seed) {
    words.insert(words.end(), {"--seed", std::to_string(seed)});
    return words;
  };
  for (size_t seed = 0; seed < 2; ++seed)
    expect_done(training("m" + std::to_string(seed), with_seed(how, seed)));
  std::vector<std::thread> runs;
  for (size_t i = 0; i < 6; ++i)
    runs.emplace_back([&, i] { expect_done(training("c" + std::to_string(i), with_seed(cached, i % 2))); });
  for (std::thread& run : runs) run.join();
  for (size_t i = 0; i < 6; ++i)
    EXPECT_EQ(model("c" + std::to_string(i)), model("m" + std::to_string(i % 2))) << i;
  EXPECT_EQ(files_of(folder_ / "rows").size(), 3u);
}

// What a user sees of it.
TEST_F(DataCache, SaysWhereRowsAreReadFrom) {
  const Words words{"train",       "classifier",  "data.svm", "--out", "run",         "--cache", "rows",
                    "--no-report", "--overwrite", "--epochs", "1",     "--optimiser", "adagrad"};
  EXPECT_NE(folder_.run(words).err.find("written now"), std::string::npos);
  EXPECT_NE(folder_.run(words).err.find("there already"), std::string::npos);
  folder_.generate("data.svm", 500, 5);
  EXPECT_NE(folder_.run(words).err.find("made anew"), std::string::npos);
  const std::string before = folder_.run(words).err;
  EXPECT_NE(before.find("there already"), std::string::npos) << before;
  Words wrong = words;
  for (const char* word : {"--target", "label"}) wrong.emplace_back(word);
  expect_user_error(folder_.run(wrong), "a target column (--target) is for csv and tsv");
  folder_.write("t.csv", "y,a\nu,1\nv,2\n");
  expect_user_error(folder_.run({"train", "classifier", "t.csv", "--cache", "rows"}),
                    "--cache is for svmlight");
  expect_user_error(folder_.run_on("1 1:1\n", {"train", "classifier", "-", "--cache", "rows"}),
                    "can be read again");
}

}  // namespace
}  // namespace selfnorm::cli
