// A run that is killed or interrupted and then resumed ends in the same bytes as one left alone.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <sstream>

#include "cli/program.h"

namespace selfnorm::cli {
namespace {

namespace fs = std::filesystem;

struct Plan {
  std::string name;
  std::vector<std::string> options;
  std::string command = "classifier";

  friend void PrintTo(const Plan& plan, std::ostream* out) { *out << plan.name; }
};

class Resume : public testing::TestWithParam<Plan> {
 protected:
  // Enough steps that the signal arrives in the middle; a checkpoint after each.
  std::vector<std::string> words(const std::string& out) const {
    std::vector<std::string> all{"train", GetParam().command,     "data", "--quiet", "--out",
                                 out,     "--checkpoint-seconds", "0"};
    all.insert(all.end(), GetParam().options.begin(), GetParam().options.end());
    return all;
  }
  void generate(const Folder& folder, const std::string& name, int rows) const {
    if (GetParam().command == "lm")
      folder.generate_text(name, rows, static_cast<unsigned>(rows));
    else
      folder.generate(name, rows, 20);
  }
  // Sends `signal` once the run has written a checkpoint and a few lines of metrics.
  static std::function<void(pid_t)> after_some_steps(const Folder& folder, const std::string& out,
                                                     int signal) {
    return [&folder, out, signal](pid_t child) {
      for (int i = 0; i < 5000; ++i) {
        const std::string metrics = content(folder / (out + "/metrics.jsonl"));
        if (fs::exists(folder / (out + "/checkpoint.safetensors")) &&
            std::count(metrics.begin(), metrics.end(), '\n') >= 3)
          break;
        if (fs::exists(folder / (out + "/model.safetensors"))) break;
        usleep(1000);
      }
      kill(child, signal);
    };
  }
  static void expect_steps_once_each(const std::string& metrics) {
    std::istringstream lines(metrics);
    std::set<std::string> seen;
    for (std::string line; std::getline(lines, line);) {
      const auto m = nlohmann::json::parse(line);
      EXPECT_TRUE(seen.insert(m["alpha"].dump() + " " + m["epoch"].dump() + " " + m["step"].dump()).second)
          << line;
    }
  }
};

TEST_P(Resume, SameBytesAfterAKill) {
  const Folder folder;
  generate(folder, "data", 3000);
  ASSERT_EQ(folder.run(words("whole")).code, 0);
  const Outcome killed = folder.run(words("cut"), after_some_steps(folder, "cut", SIGKILL));
  ASSERT_EQ(killed.code, 128 + SIGKILL) << "the run ended before the signal";
  std::vector<std::string> again = words("cut");
  again.push_back("--resume");
  const Outcome resumed = folder.run(again);
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_TRUE(content(folder / "whole/model.safetensors") == content(folder / "cut/model.safetensors"));
  EXPECT_EQ(files_of(folder / "cut"),
            (std::vector<std::string>{"config.json", "metrics.jsonl", "model.safetensors", "report.html",
                                      "report.json"}));
  auto whole = nlohmann::json::parse(content(folder / "whole/report.json")),
       cut = nlohmann::json::parse(content(folder / "cut/report.json"));
  EXPECT_EQ(whole["sections"], cut["sections"]);
  expect_steps_once_each(content(folder / "cut/metrics.jsonl"));
}

TEST_P(Resume, SameBytesAfterCtrlCWithTheRecordedOptions) {
  const Folder folder;
  generate(folder, "data", 3000);
  ASSERT_EQ(folder.run(words("whole")).code, 0);
  const Outcome stopped = folder.run(words("cut"), after_some_steps(folder, "cut", SIGINT));
  ASSERT_EQ(stopped.code, 130) << stopped.err;
  EXPECT_NE(stopped.err.find("--resume --out cut"), std::string::npos) << stopped.err;
  const Outcome resumed =
      folder.run({"train", GetParam().command, "--resume", "--out", "cut", "--threads", "1"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_TRUE(content(folder / "whole/model.safetensors") == content(folder / "cut/model.safetensors"));
  const Outcome complete = folder.run({"train", GetParam().command, "--resume", "--out", "cut"});
  EXPECT_EQ(complete.code, 0);
  EXPECT_NE(complete.err.find("complete"), std::string::npos);
}

TEST_P(Resume, OtherOptionsOrDataAreRefused) {
  const Folder folder;
  generate(folder, "data", 3000);
  generate(folder, "other", 2999);
  ASSERT_EQ(folder.run(words("cut"), after_some_steps(folder, "cut", SIGTERM)).code, 130);
  expect_user_error(
      folder.run({"train", GetParam().command, "--resume", "--quiet", "--out", "cut", "--alpha", "7"}),
      "--alpha is 7");
  expect_user_error(folder.run({"train", GetParam().command, "other", "--resume", "--quiet", "--out", "cut"}),
                    "other is not the data");
  EXPECT_TRUE(fs::exists(folder / "cut/checkpoint.safetensors"));
}

TEST(RunDirectory, IsInUseByOneTrainingOnly) {
  const Folder folder;
  folder.generate();
  const std::vector<std::string> words = {"train", "classifier", "data.svm", "--out", "run", "--quiet"};
  ASSERT_EQ(folder.run(words).code, 0);
  const std::string before = content(folder / "run/model.safetensors");
  const int other = open((folder / "run").c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(flock(other, LOCK_EX | LOCK_NB), 0);
  for (const char* mode : {"--resume", "--overwrite"}) {
    std::vector<std::string> again = words;
    again.push_back(mode);
    expect_user_error(folder.run(again), "run is in use: another selfnorm trains there");
  }
  EXPECT_EQ(content(folder / "run/model.safetensors"), before);
  close(other);
  std::vector<std::string> again = words;
  again.push_back("--overwrite");
  EXPECT_EQ(folder.run(again).code, 0);
}

INSTANTIATE_TEST_SUITE_P(
    All, Resume,
    testing::Values(
        Plan{"Lbfgs", {"--optimiser", "lbfgs", "--tolerance", "1e-9", "--l2", "1e-7"}},
        Plan{"Adam", {"--optimiser", "adam", "--epochs", "8", "--batch", "16"}},
        Plan{"Snl", {"--objective", "snl", "--epochs", "4", "--batch", "16", "--samples", "20"}},
        Plan{"Bag", {"--encoder", "bag", "--dimension", "8", "--epochs", "4", "--batch", "32"}},
        Plan{"LanguageModel", {"--dimension", "8", "--hidden", "8", "--epochs", "3", "--batch", "128"}, "lm"},
        Plan{"Constraint", {"--objective", "constraint", "--delta", "0.05", "--steps", "60"}}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace selfnorm::cli
