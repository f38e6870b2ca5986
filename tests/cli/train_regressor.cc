#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <tuple>

#include "cli/regressor_data.h"
#include "cli/report_data.h"

namespace selfnorm::cli {
namespace {

namespace fs = std::filesystem;

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
  for (const char* word : {"NLL with b", "rms(gap)", "CRPS", "RMSE", "in 90%", "certificate"})
    expect_in(trained.out, word);
  EXPECT_EQ(files_of(folder / "out/data-snl"),
            (std::vector<std::string>{"config.json", "metrics.jsonl", "model.safetensors", "report.html",
                                      "report.json"}));
  const auto config = nlohmann::json::parse(content(folder / "out/data-snl/config.json"));
  EXPECT_EQ(config["command"], "train regressor");
  EXPECT_EQ(config["options"]["features"], "0");
  EXPECT_EQ(config["data"]["columns"], 3);
  const auto info = folder.run({"info", "out/data-snl", "--json"}).json();
  EXPECT_EQ(info["family"], "regressor");
  EXPECT_EQ(info["targets"][0], "y");
  EXPECT_EQ(info["audit"]["data"], "validation");
  EXPECT_EQ(info["audit"]["rows"], 20);
  EXPECT_TRUE(info["audit"]["nll"].is_number());
  EXPECT_TRUE(info["audit"]["log_density_gap"]["rms"].is_number());
  // What the number of rows and the folds of a race chose.
  expect_in(trained.err, "chosen on 5 folds of the training rows: input noise 0");
  EXPECT_EQ(info["ensemble"], 5);
  expect_in(trained.err, "(NLL of averages of 5 mixtures on 180 rows: ");
  EXPECT_EQ(info["training"]["features"], (std::vector<int>{64, 64}));
  EXPECT_EQ(info["training"]["race"].size(), 2u);
  EXPECT_TRUE(info["training"]["input_noise"].is_number());
  EXPECT_EQ(info["temperature"].size(), 5u);
  EXPECT_LE(info["training"]["temperatures"]["valid_nll"].get<double>(),
            info["training"]["temperatures"]["valid_nll_at_1"].get<double>());
}

TEST(TrainRegressor, LearnsADensityCloseToTheTrueOne) {
  const Folder folder;
  write_table(folder, "data.csv", 1000);
  write_table(folder, "test.csv", 300, 2);
  const Outcome trained = folder.run({"train", "regressor", "data.csv", "--test", "test.csv", "--epochs",
                                      "30", "--features", "16", "--joint", "16", "--samples", "16", "--json",
                                      "--quiet", "--out", "run", "--ensemble", "1"});
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
  expect_same_bytes_for_any_threads(folder, "data.csv", tiny_regressor);
}

// y = mean + scale times that of data.csv: the same training, the same NLL but for log scale.
TEST(TrainRegressor, AnyUnitsOfTheTarget) {
  const Folder folder;
  write_table(folder, "data.csv", 120);
  const auto audit_of = [&](const std::string& name, double mean, double scale) {
    std::istringstream lines(content(folder / "data.csv"));
    std::string line, text;
    std::getline(lines, line);
    for (text = line + "\n"; std::getline(lines, line);) {
      const size_t comma = line.rfind(',');
      text += fmt::format("{},{}\n", line.substr(0, comma), mean + scale * std::stod(line.substr(comma + 1)));
    }
    folder.write(name + ".csv", text);
    const Outcome trained = folder.run(tiny_regressor(name + ".csv", name, {"--json", "--quiet"}));
    EXPECT_EQ(trained.code, 0) << trained.err;
    return trained.json()["audit"];
  };
  const auto plain = audit_of("plain", 0, 1);
  for (const auto& [name, mean, scale] :
       {std::tuple{"big", 1e9, 1.0}, {"huge", 0.0, 1e60}, {"tiny", 0.0, 1e-50}}) {
    const auto audit = audit_of(name, mean, scale);
    EXPECT_NEAR(audit["nll"].get<double>() - std::log(scale), plain["nll"].get<double>(), 0.01) << audit;
    EXPECT_NEAR(audit["rmse"].get<double>() / scale, plain["rmse"].get<double>(), 0.01) << audit;
    EXPECT_NEAR(audit["crps"].get<double>() / scale, plain["crps"].get<double>(), 0.01) << audit;
    // Predictions have the digits to say so.
    const auto row =
        folder.run({"predict", name, std::string(name) + ".csv", "--json", "--quiet"}).json()["rows"][3];
    const auto of = folder.run({"predict", "plain", "plain.csv", "--json", "--quiet"}).json()["rows"][3];
    for (const char* key : {"mean", "median"})
      EXPECT_NEAR((row[key].get<double>() - mean) / scale, of[key].get<double>(), 0.01) << name << key;
    EXPECT_NEAR((row["quantiles"]["0.05"].get<double>() - mean) / scale,
                of["quantiles"]["0.05"].get<double>(), 0.01);
    EXPECT_NEAR(row["log_density"].get<double>() + std::log(scale), of["log_density"].get<double>(), 0.03);
  }
}

TEST(TrainRegressor, CertificatesSpeakOfRowsWithoutAPart) {
  const Folder folder;
  write_table(folder, "data.csv", 60);
  write_table(folder, "other.csv", 40, 2);
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--epochs", "2", "--overwrite"});
    const Outcome trained = folder.run(tiny_regressor("data.csv", "run", more));
    EXPECT_EQ(trained.code, 0) << trained.err;
    return std::pair{trained.out, folder.run({"info", "run", "--json"}).json()["audit"]};
  };
  const std::string optimistic = "the step that did best on these rows is kept";
  const auto [training, of_training] = run({"--hold-out", "0"});
  expect_in(training, "on the training data");
  expect_in(training, "certificate  none: the model was trained on these rows");
  EXPECT_EQ(training.find("CERTIFIED"), std::string::npos) << training;
  for (const char* key : {"certificate", "rho_bound", "smallest_eps", "chose_step"})
    EXPECT_FALSE(of_training.contains(key)) << key;
  const auto [validation, of_validation] = run({"--valid", "other.csv"});
  expect_in(validation, "CERTIFIED");
  expect_in(validation, optimistic);
  EXPECT_EQ(of_validation["chose_step"], true);
  EXPECT_EQ(of_validation["certificate"]["n"], 40);
  const auto [test, of_test] = run({"--test", "other.csv"});
  expect_in(test, "CERTIFIED");
  EXPECT_EQ(test.find(optimistic), std::string::npos) << test;
  EXPECT_FALSE(of_test.contains("chose_step"));
  // A test file that is the training or the validation file is no test.
  folder.write("copy.csv", content(folder / "data.csv"));
  const auto [trained, of_trained] = run({"--test", "copy.csv"});
  expect_in(trained, "certificate  none: the model was trained on these rows");
  EXPECT_FALSE(of_trained.contains("certificate"));
  const auto [chose, of_chose] = run({"--valid", "other.csv", "--test", "other.csv"});
  expect_in(chose, optimistic);
  EXPECT_EQ(of_chose["chose_step"], true);
}

// Steps so large that the mixture is no more: the last good model is there, and no run to resume.
TEST(TrainRegressor, DivergenceKeepsAGoodModel) {
  const Folder folder;
  write_table(folder, "data.csv", 60);
  const Outcome trained = folder.run({"train",
                                      "regressor",
                                      "data.csv",
                                      "--no-calibrate",
                                      "--learning-rate",
                                      "1e20",
                                      "--epochs",
                                      "4",
                                      "--hold-out",
                                      "0",
                                      "--features",
                                      "4",
                                      "--joint",
                                      "4",
                                      "--base",
                                      "broad",
                                      "--out",
                                      "run",
                                      "--quiet",
                                      "--ensemble",
                                      "1"});
  EXPECT_EQ(trained.code, 3);
  expect_in(trained.err, "training diverged");
  EXPECT_EQ(files_of(folder / "run"),
            (std::vector<std::string>{"config.json", "metrics.jsonl", "model.safetensors", "report.html",
                                      "report.json"}));
  EXPECT_TRUE(folder.run({"evaluate", "run", "data.csv", "--json"}).json()["nll"].is_number());
}

// Whether the few rows that are looked at in training would do or not, the kept model is evaluated.
TEST(TrainRegressor, DivergenceIsWhatTheExitCodeSays) {
  const Folder folder;
  write_table(folder, "data.csv", 400);
  for (const std::vector<std::string>& how :
       {std::vector<std::string>{"--epochs", "10", "--learning-rate", "1e6"},
        {"--epochs", "10", "--learning-rate", "3e6"},
        {"--epochs", "1", "--batch", "100", "--warm-up", "0", "--learning-rate", "1e4"}}) {
    std::vector<std::string> words{"train",       "regressor",      "data.csv",   "--hold-out",
                                   "0",           "--out",          "run",        "--quiet",
                                   "--overwrite", "--no-calibrate", "--ensemble", "1"};
    words.insert(words.end(), how.begin(), how.end());
    const Outcome trained = folder.run(words);
    EXPECT_EQ(trained.code, 3) << trained.err;
    EXPECT_EQ(trained.err.find("could not be evaluated"), std::string::npos) << trained.err;
  }
}

TEST(TrainRegressor, WhatIsSaidOfEnsembles) {
  const Folder folder;
  write_table(folder, "data.csv", 60);
  write_table(folder, "other.csv", 40, 2);
  const Outcome trained = folder.run(
      tiny_regressor("data.csv", "run", {"--ensemble", "2", "--valid", "other.csv", "--epochs", "2"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  expect_in(trained.err, "other.csv takes no part in training");
  expect_in(trained.err, "the model is evaluated on it");
  expect_in(trained.out, "rms(gap)");
  expect_in(trained.out, "of the mean density at the target");
  EXPECT_EQ(trained.out.find("is kept, so"), std::string::npos) << trained.out;
  const auto audit = folder.run({"info", "run", "--json"}).json()["audit"];
  EXPECT_EQ(audit["members"], 2);
  EXPECT_FALSE(audit.contains("b_minus_a"));
  EXPECT_NEAR(audit["log_density_gap"]["mean"].get<double>(),
              audit["nll_b"].get<double>() - audit["nll"].get<double>(), 1e-9);
  const auto row = folder.run({"predict", "run", "data.csv", "--json", "--quiet"}).json()["rows"][0];
  EXPECT_FALSE(row.contains("a"));
  EXPECT_FALSE(row.contains("b"));
  EXPECT_TRUE(row.contains("error"));
  expect_in(folder.run({"audit", "run", "other.csv", "--quiet"}).out,
            "log mean density of 2 members at the target");
}

TEST(TrainRegressor, EveryObjective) {
  const Folder folder;
  write_table(folder, "data.csv", 80);
  for (const std::string objective :
       {"is", "nce", "ranking-nce", "nce+", "kld-is", "mcmc", "sm", "dsm", "mdn"}) {
    std::vector<std::string> words{
        "train",      "regressor",   "data.csv",     "--objective", objective,    "--json",
        "--quiet",    "--overwrite", "--out",        "run",         "--epochs",   "4",
        "--features", "8",           "--components", "2",           "--ensemble", "1"};
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
  write_table(folder, "valid.csv", 39, 2);
  folder.write("valid.csv", content(folder / "valid.csv") + "0.5,pink,1\n");
  // Another order, a level of its own, a column too many, a row without a target.
  folder.write("test.csv", "extra,y,colour,x\nq,1,green,0.5\nq,,red,0.1\nq,2,,0.5\n");
  const Outcome trained = folder.run(tiny_regressor(
      "data.csv", "run",
      {"--valid", "valid.csv", "--test", "test.csv", "--skip-missing-targets", "--categorical", "colour"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  expect_in(trained.err, "validation: valid.csv: 40 rows");
  expect_in(trained.err, "1 categorical colour (2 levels)");
  expect_in(trained.err, "test.csv: 1 rows without a target left out");
  expect_in(trained.err, "test.csv: column colour: 1 missing; 1 of levels that training did not have");
  const auto audit = folder.run({"info", "run", "--json"}).json()["audit"];
  EXPECT_EQ(audit["data"], "test");
  EXPECT_EQ(audit["rows"], 2);
  const Outcome ignored =
      folder.run(tiny_regressor("data.csv", "ignored", {"--drop", "colour", "--hold-out", "0"}));
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
    EXPECT_TRUE(shown_of(folder / "whole") == shown_of(folder / cut));
    EXPECT_EQ(files_of(folder / cut),
              (std::vector<std::string>{"config.json", "metrics.jsonl", "model.safetensors", "report.html",
                                        "report.json"}));
  }
  const Outcome complete = folder.run({"train", "regressor", "--resume", "--out", "killed"});
  EXPECT_EQ(complete.code, 0);
  expect_in(complete.err, "complete");
}

// 100 rows of which two have all the weight tell as much as two, and leave the members as they are.
TEST(TrainRegressor, UnequalWeightsSayHowManyRowsChoseTheTemperature) {
  const Folder folder;
  std::minstd_rand random(5);
  std::string text = "x,y,w\n";
  for (int i = 0; i < 100; ++i) {
    const double x = 4 * uniform(random) - 2;
    text += fmt::format("{},{},{}\n", x, x + 0.3 * normal(random), i % 50 == 7 ? 1000 : 0.001);
  }
  folder.write("data.csv", text);
  const Outcome trained = folder.run(tiny_regressor(
      "data.csv", "run", {"--target", "y", "--weight-column", "w", "--hold-out", "0", "--ensemble", "2"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  expect_in(trained.err, ": temperature 1 of all members (NLL of averages of 2 mixtures on 2 rows: ");
  EXPECT_EQ(folder.run({"info", "run", "--json"}).json()["temperature"], (std::vector<double>{1, 1}));
}

// Lower and upper ends in columns of their own, missing ones infinite; counts; weights.
TEST(TrainRegressor, IntervalsCountsAndWeights) {
  const Folder folder;
  std::minstd_rand random(3);
  std::string text = "x,low,high,count,w\n";
  for (int i = 0; i < 120; ++i) {
    const double x = 4 * uniform(random) - 2, y = x + 0.3 * normal(random);
    const std::string low = i % 4 == 0 ? "" : fmt::format("{}", i % 4 == 1 ? y - 0.2 : y);
    const std::string high = i % 4 == 2 ? "" : fmt::format("{}", i % 4 == 1 ? y + 0.2 : y);
    text += fmt::format("{},{},{},{},{}\n", x, low, high,
                        static_cast<int>(3 + y) > 0 ? static_cast<int>(3 + y) : 0, 1 + i % 2);
  }
  folder.write("data.csv", text);
  const Outcome trained = folder.run(tiny_regressor(
      "data.csv", "run",
      {"--target-low", "low", "--target-high", "high", "--weight-column", "w", "--drop", "count"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  expect_in(trained.err, "inputs: 1 numeric columns x; 0 categorical; 0 left out");
  const auto evaluated = folder.run({"evaluate", "run", "data.csv", "--json", "--quiet"}).json();
  EXPECT_TRUE(evaluated["nll"].is_number()) << evaluated;
  EXPECT_EQ(evaluated["intervals"], 90);
  const auto row = folder.run({"predict", "run", "data.csv", "--survival", "-100,0,100", "--json", "--quiet"})
                       .json()["rows"][0];
  EXPECT_EQ(row["survival"]["-100"], 1);
  EXPECT_EQ(row["survival"]["100"], 0);
  EXPECT_LE(row["log_density"].get<double>(), 0);
  expect_in(folder.run({"predict", "run", "data.csv", "--survival", "0.5"}).out, "survival0.5");
  expect_user_error(folder.run({"score", "run", "data.csv", "--raw"}), "masses of intervals");
  EXPECT_EQ(folder.run({"info", "run", "--json"}).json()["target_kind"], "interval");
  const Outcome counts = folder.run(tiny_regressor(
      "data.csv", "counts", {"--target", "count", "--target-kind", "count", "--drop", "low,high,w"}));
  ASSERT_EQ(counts.code, 0) << counts.err;
  const auto scored = folder.run({"score", "counts", "data.csv", "--quiet", "--json"});
  EXPECT_EQ(scored.code, 0) << scored.err;
  expect_user_error(folder.run(tiny_regressor("data.csv", "x", {"--target-low", "low"})), "--target-high");
  expect_user_error(
      folder.run(tiny_regressor("data.csv", "x", {"--target", "x", "--target-kind", "count", "--quiet"})),
      "expected a count");
}

}  // namespace
}  // namespace selfnorm::cli
