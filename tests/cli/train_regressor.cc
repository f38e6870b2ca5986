#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "regressor_data.h"

namespace selfnorm::cli {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> files_of(const std::string& run) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(run)) files.push_back(entry.path().filename());
  std::sort(files.begin(), files.end());
  return files;
}

void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << " in:\n" << text;
}

TEST(TrainRegressor, DataAloneGivesAnEvaluatedRun) {
  const Folder folder;
  write_table(folder);
  const Outcome trained = folder.run({"train", "regressor", "data.csv", "--epochs", "3"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  expect_in(trained.err, "read data.csv: 200 rows, 3 columns, target y");
  expect_in(trained.err, "held out: 20 rows");
  expect_in(trained.err, "inputs: 1 numeric columns x; 1 categorical colour (2 levels); 0 left out");
  expect_in(trained.err, "missing values");
  expect_in(trained.err, "step ");
  expect_in(trained.out, "on the validation data");
  for (const char* word : {"NLL with b", "rms(b - A)", "CRPS", "RMSE", "in 90%", "certificate"})
    expect_in(trained.out, word);
  EXPECT_EQ(files_of(folder / "out/data-snl"),
            (std::vector<std::string>{"config.json", "metrics.jsonl", "model.safetensors"}));
  const auto config = nlohmann::json::parse(content(folder / "out/data-snl/config.json"));
  EXPECT_EQ(config["command"], "train regressor");
  EXPECT_EQ(config["options"]["features"], "64,64");
  EXPECT_EQ(config["data"]["columns"], 3);
  const auto info = folder.run({"info", "out/data-snl", "--json"}).json();
  EXPECT_EQ(info["family"], "regressor");
  EXPECT_EQ(info["targets"][0], "y");
  EXPECT_EQ(info["audit"]["data"], "validation");
  EXPECT_EQ(info["audit"]["rows"], 20);
  EXPECT_TRUE(info["audit"]["nll"].is_number());
  EXPECT_TRUE(info["audit"]["b_minus_a"]["rms"].is_number());
}

TEST(TrainRegressor, LearnsADensityCloseToTheTrueOne) {
  const Folder folder;
  write_table(folder, "data.csv", 1000);
  write_table(folder, "test.csv", 300, 2);
  const Outcome trained =
      folder.run({"train", "regressor", "data.csv", "--test", "test.csv", "--epochs", "30", "--features",
                  "16", "--joint", "16", "--samples", "16", "--json", "--quiet", "--out", "run"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const auto audit = trained.json()["audit"];
  EXPECT_EQ(audit["data"], "test");
  EXPECT_EQ(audit["rows"], 300);
  // log(0.3 sqrt(2 pi e)) = 0.215 nats; 300 rows tell it to 0.04.
  EXPECT_GT(audit["nll"].get<double>(), 0.05) << audit;
  EXPECT_LT(audit["nll"].get<double>(), 0.40) << audit;
  EXPECT_LT(audit["b_minus_a"]["rms"].get<double>(), 0.1) << audit;
  EXPECT_NEAR(audit["nll_b"].get<double>(), audit["nll"].get<double>(), 0.1) << audit;
}

TEST(TrainRegressor, SameBytesForAnyThreadsAndCompression) {
  const Folder folder;
  write_table(folder);
  ASSERT_EQ(std::system(("gzip -k " + folder / "data.csv").c_str()), 0);
  ASSERT_EQ(folder.run(tiny_regressor("data.csv", "a", {"--threads", "1"})).code, 0);
  ASSERT_EQ(folder.run(tiny_regressor("data.csv.gz", "b", {"--threads", "2"})).code, 0);
  ASSERT_EQ(folder.run(tiny_regressor("data.csv", "c", {"--seed", "1"})).code, 0);
  const std::string model = content(folder / "a/model.safetensors");
  EXPECT_TRUE(model == content(folder / "b/model.safetensors"));
  EXPECT_FALSE(model == content(folder / "c/model.safetensors"));
}

TEST(TrainRegressor, EveryObjective) {
  const Folder folder;
  write_table(folder, "data.csv", 80);
  for (const std::string objective :
       {"is", "nce", "ranking-nce", "nce+", "kld-is", "mcmc", "sm", "dsm", "mdn"}) {
    std::vector<std::string> words{"train",      "regressor", "data.csv",     "--objective",
                                   objective,    "--json",    "--quiet",      "--overwrite",
                                   "--out",      "run",       "--epochs",     "4",
                                   "--features", "8",         "--components", "2"};
    if (objective != "mdn") words.insert(words.end(), {"--joint", "8"});
    const Outcome trained = folder.run(words);
    ASSERT_EQ(trained.code, 0) << objective << trained.err;
    EXPECT_TRUE(trained.json()["audit"]["nll"].is_number()) << objective << trained.out;
  }
}

TEST(TrainRegressor, SeveralTargetsEnsemblesAndSupports) {
  const Folder folder;
  write_table(folder, "data.csv", 120, 1, true);
  const Outcome trained =
      folder.run(tiny_regressor("data.csv", "run",
                                {"--target", "y", "--target", "z", "--ensemble", "2", "--lower", "-50",
                                 "--upper", "50,60", "--json", "--quiet"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  const auto audit = trained.json()["audit"];
  EXPECT_EQ(audit["targets"].size(), 2u);
  EXPECT_EQ(audit["targets"][1]["name"], "z");
  const auto info = folder.run({"info", "run", "--json"}).json();
  EXPECT_EQ(info["targets"], (nlohmann::json{"y", "z"}));
  EXPECT_EQ(info["ensemble"], 2);
  EXPECT_NEAR(info["upper"][1].get<double>(), 60, 1e-6);
  EXPECT_NEAR(info["lower"][1].get<double>(), -50, 1e-6);
  // A list says the same; by number too.
  for (const std::string target : {"y,z", "2,3"}) {
    const Outcome same = folder.run(tiny_regressor(
        "data.csv", "same",
        {"--target", target, "--ensemble", "2", "--lower", "-50", "--upper", "50,60", "--overwrite"}));
    ASSERT_EQ(same.code, 0) << same.err;
    EXPECT_TRUE(content(folder / "run/model.safetensors") == content(folder / "same/model.safetensors"));
  }
}

TEST(TrainRegressor, ListsOfTheCommandLineReplaceThoseOfAConfigFile) {
  const Folder folder;
  write_table(folder, "data.csv", 60, 1, true);
  folder.write("a.toml", "[train.regressor]\ntarget = [\"y\", \"z\"]\nepochs = 2\n");
  const auto targets = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"train",   "regressor", "data.csv", "--config",    "a.toml",
                                   "--quiet", "--out",     "run",      "--overwrite", "--features",
                                   "4",       "--joint",   "4"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome trained = folder.run(words);
    EXPECT_EQ(trained.code, 0) << trained.err;
    return folder.run({"info", "run", "--json"}).json()["targets"];
  };
  EXPECT_EQ(targets({}), (nlohmann::json{"y", "z"}));
  EXPECT_EQ(targets({"--target", "z"}), nlohmann::json{"z"});
  EXPECT_EQ(targets({"--target=z", "--target", "y"}), (nlohmann::json{"z", "y"}));
  expect_user_error(folder.run({"train", "regressor", "data.csv", "--target"}), "--target");
}

TEST(TrainRegressor, ColumnsAndRowsOfOtherFiles) {
  const Folder folder;
  write_table(folder);
  write_table(folder, "valid.csv", 40, 2);
  // Another order, a level of its own, a column too many, a row without a target.
  folder.write("test.csv", "extra,y,colour,x\nq,1,green,0.5\nq,,red,0.1\nq,2,,0.5\n");
  const Outcome trained = folder.run(tiny_regressor(
      "data.csv", "run",
      {"--valid", "valid.csv", "--test", "test.csv", "--skip-missing-targets", "--categorical", "colour"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  expect_in(trained.err, "validation: valid.csv: 40 rows");
  expect_in(trained.err, "test.csv: 1 rows without a target left out");
  expect_in(trained.err, "test.csv: column colour: 1 missing; 1 of levels that training did not have");
  const auto audit = folder.run({"info", "run", "--json"}).json()["audit"];
  EXPECT_EQ(audit["data"], "test");
  EXPECT_EQ(audit["rows"], 2);
  const Outcome ignored =
      folder.run(tiny_regressor("data.csv", "ignored", {"--ignore", "colour", "--hold-out", "0"}));
  ASSERT_EQ(ignored.code, 0) << ignored.err;
  const auto info = folder.run({"info", "ignored", "--json"}).json();
  EXPECT_EQ(info["columns"], nlohmann::json{"x"});
  EXPECT_EQ(info["audit"]["data"], "training");
}

TEST(TrainRegressor, SameBytesAfterASignal) {
  const Folder folder;
  write_table(folder);
  write_table(folder, "other.csv", 199);
  const auto words = [](const std::string& out, const std::string& seconds) {
    return tiny_regressor("data.csv", out,
                          {"--target", "y", "--ensemble", "2", "--quiet", "--checkpoint-seconds", seconds});
  };
  ASSERT_EQ(folder.run(words("whole", "30")).code, 0);
  const auto after_some_steps = [&](const std::string& out, int signal) {
    return [&folder, out, signal](pid_t child) {
      for (int i = 0; i < 5000; ++i) {
        const std::string metrics = content(folder / (out + "/metrics.jsonl"));
        if (fs::exists(folder / (out + "/checkpoint.safetensors")) &&
            std::count(metrics.begin(), metrics.end(), '\n') >= 3)
          break;
        usleep(1000);
      }
      kill(child, signal);
    };
  };
  for (const int signal : {SIGKILL, SIGINT}) {
    const std::string cut = signal == SIGKILL ? "killed" : "stopped";
    const Outcome outcome = folder.run(words(cut, "0"), after_some_steps(cut, signal));
    ASSERT_EQ(outcome.code, signal == SIGKILL ? 128 + SIGKILL : 130) << "the run ended before the signal";
    expect_user_error(
        folder.run({"train", "regressor", "--resume", "--quiet", "--out", cut, "--target", "x"}),
        "--target is");
    expect_user_error(folder.run({"train", "regressor", "other.csv", "--resume", "--quiet", "--out", cut}),
                      "other.csv is not the data");
    expect_user_error(folder.run({"predict", cut, "data.csv"}), "the run is not finished");
    const Outcome resumed =
        folder.run({"train", "regressor", "--resume", "--out", cut, "--target", "y", "--threads", "1"});
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_TRUE(content(folder / "whole/model.safetensors") ==
                content(folder / (cut + "/model.safetensors")));
    EXPECT_EQ(files_of(folder / cut),
              (std::vector<std::string>{"config.json", "metrics.jsonl", "model.safetensors"}));
  }
  const Outcome complete = folder.run({"train", "regressor", "--resume", "--out", "killed"});
  EXPECT_EQ(complete.code, 0);
  expect_in(complete.err, "complete");
}

}  // namespace
}  // namespace selfnorm::cli
