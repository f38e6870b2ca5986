#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "cli/program.h"

namespace selfnorm::cli {
namespace {

namespace fs = std::filesystem;

TEST(TrainClassifier, DataAloneGivesAnAuditedRun) {
  const Folder folder;
  folder.generate();
  const Outcome trained = folder.run({"train", "classifier", "data.svm"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.err.find("300 rows, 30 features, 4 classes"), std::string::npos) << trained.err;
  EXPECT_NE(trained.out.find("validation"), std::string::npos) << trained.out;
  EXPECT_NE(trained.err.find("chosen for 4 classes: a linear model by maximum likelihood"), std::string::npos)
      << trained.err;
  EXPECT_NE(trained.err.find("chosen on the 30 validation rows and 5 folds of the 270 training rows: l2 = "),
            std::string::npos)
      << trained.err;
  const std::string run = folder / "out/data-exact/";
  EXPECT_TRUE(fs::exists(run + "model.safetensors"));
  EXPECT_FALSE(fs::exists(run + "checkpoint.safetensors"));
  const auto config = nlohmann::json::parse(content(run + "config.json"));
  EXPECT_EQ(config["options"]["objective"], "exact");
  EXPECT_NEAR(config["options"]["l2-from"].get<double>(), 1.0 / 3, 1e-12);
  EXPECT_EQ(config["data"]["rows"], 300);

  std::istringstream lines(content(run + "metrics.jsonl"));
  size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const auto metrics = nlohmann::json::parse(line);
    for (const char* key : {"step", "loss", "nll", "penalty", "regulariser", "log_z_rms"})
      EXPECT_TRUE(metrics.contains(key)) << key;
  }
  EXPECT_GT(count, 0u);
  const auto info = folder.run({"info", "out/data-exact", "--json"}).json();
  EXPECT_EQ(info["audit"]["data"], "validation");
  EXPECT_GT(info["training"]["l2"].get<double>(), 0);
  EXPECT_EQ(info["audit"]["n"], 30);

  ASSERT_EQ(folder.run({"train", "classifier", "data.svm", "--quiet"}).code, 0);
  EXPECT_TRUE(fs::exists(folder / "out/data-exact-2/model.safetensors"));
}

// Where no held-out rows choose, there is the usual l2.
TEST(TrainClassifier, L2IsChosenOnlyWhereSomethingChooses) {
  const Folder folder;
  folder.generate();
  folder.generate("few.svm", 15);
  const auto l2 = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"train", "classifier"});
    words.insert(words.end(), {"--json", "--no-report", "--overwrite", "--out", "run"});
    EXPECT_EQ(folder.run(words).code, 0);
    return folder.run({"info", "run", "--json"}).json()["training"]["l2"].get<double>();
  };
  EXPECT_EQ(l2({"data.svm", "--hold-out", "0"}), 1e-6);
  EXPECT_EQ(l2({"data.svm", "--patience", "0"}), 1e-6);
  EXPECT_EQ(l2({"few.svm"}), 1e-6);
  EXPECT_GT(l2({"data.svm"}), 1e-6);
}

// The default objective is not in the command, and there may be a run of another one: one that has a
// checkpoint is meant, otherwise the latest.
TEST(TrainClassifier, ResumeWithoutAPlaceFindsTheRun) {
  const Folder folder;
  folder.generate();
  ASSERT_EQ(folder.run({"train", "classifier", "data.svm", "--objective", "penalty", "--quiet"}).code, 0);
  ASSERT_EQ(folder.run({"train", "classifier", "data.svm", "--quiet"}).code, 0);
  const auto resumed = [&folder] { return folder.run({"train", "classifier", "data.svm", "--resume"}).err; };
  EXPECT_NE(resumed().find("the run in out/data-exact is complete"), std::string::npos) << resumed();
  folder.write("out/data-penalty/checkpoint.safetensors", "");
  EXPECT_NE(resumed().find("out/data-penalty/checkpoint.safetensors"), std::string::npos) << resumed();
}

TEST(TrainClassifier, QuietGivesResultsAloneAndJsonOnlyJson) {
  const Folder folder;
  folder.generate();
  const Outcome quiet = folder.run({"train", "classifier", "data.svm", "--quiet", "--out", "a"});
  EXPECT_EQ(quiet.code, 0);
  EXPECT_EQ(quiet.err, "");
  EXPECT_NE(quiet.out.find("NLL exact"), std::string::npos) << quiet.out;
  const auto json = folder.run({"train", "classifier", "data.svm", "--json", "--out", "b"}).json();
  EXPECT_EQ(json["run"], "b");
  EXPECT_EQ(json["objective"], "exact");
  EXPECT_TRUE(json["audit"]["nll_exact"].is_number());
}

// Nothing exact is reported while training against noise classes; b is stored and the audit is exact.
TEST(TrainClassifier, NoiseClassesReportEstimates) {
  const Folder folder;
  folder.generate();
  const Outcome trained = folder.run({"train", "classifier", "data.svm", "--objective", "snl", "--samples",
                                      "50", "--proposal", "log-uniform", "--normalizer", "constant",
                                      "--no-calibrate", "--epochs", "5", "--verbose", "--out", "run"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.err.find("log r"), std::string::npos) << trained.err;
  std::istringstream lines(content(folder / "run/metrics.jsonl"));
  nlohmann::json last;
  for (std::string line; std::getline(lines, line);) last = nlohmann::json::parse(line);
  for (const char* key : {"log_normalizer", "log_ratio", "effective_samples", "loss", "valid_nll"})
    EXPECT_TRUE(last.contains(key)) << key;
  for (const char* key : {"nll", "log_z_rms"}) EXPECT_FALSE(last.contains(key)) << key;
  const auto info = folder.run({"info", "run", "--json"}).json();
  EXPECT_EQ(info["objective"]["name"], "snl");
  EXPECT_EQ(info["objective"]["samples"], 50);
  EXPECT_EQ(info["objective"]["proposal"], "log-uniform");
  EXPECT_EQ(info["objective"]["normalizer"], "constant");
  EXPECT_TRUE(info["audit"]["nll_exact"].is_number());
}

TEST(TrainClassifier, EveryObjectiveAndOptimiser) {
  const Folder folder;
  folder.generate();
  for (const std::string objective :
       {"exact", "penalty", "constraint", "sampled", "nce", "ranking-nce", "is", "snl"}) {
    const Outcome trained = folder.run({"train", "classifier", "data.svm", "--objective", objective, "--out",
                                        objective, "--epochs", "3", "--json"});
    ASSERT_EQ(trained.code, 0) << objective << trained.err;
    EXPECT_EQ(trained.json()["objective"], objective);
  }
  for (const std::string optimiser : {"lbfgs", "adagrad", "adam"}) {
    const Outcome trained = folder.run({"train", "classifier", "data.svm", "--optimiser", optimiser, "--out",
                                        optimiser, "--epochs", "3", "--json"});
    ASSERT_EQ(trained.code, 0) << optimiser << trained.err;
    EXPECT_EQ(trained.json()["optimiser"], optimiser);
  }
}

TEST(TrainClassifier, SameModelForAnyNumberOfThreads) {
  const Folder folder;
  folder.generate("data.svm", 2000);
  for (const std::string optimiser : {"lbfgs", "adam"}) {
    for (const std::string threads : {"1", "2"}) {
      const Outcome trained =
          folder.run({"train", "classifier", "data.svm", "--quiet", "--optimiser", optimiser, "--epochs", "3",
                      "--threads", threads, "--out", optimiser + threads});
      ASSERT_EQ(trained.code, 0) << trained.err;
    }
    EXPECT_EQ(content(folder / optimiser + "1/model.safetensors"),
              content(folder / optimiser + "2/model.safetensors"));
  }
}

TEST(TrainClassifier, TextModelsCarryTheirEncoder) {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 20; ++i)
    text += "sun\tbright warm day " + std::to_string(i) + "\nrain\tdark wet day " + std::to_string(i) + "\n";
  folder.write("weather.txt", text);
  const Outcome trained =
      folder.run({"train", "classifier", "weather.txt", "--format", "text", "--out", "run", "--quiet"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  folder.write("new.txt", "rain\twet wet\n");
  const auto rows = folder.run({"score", "run", "new.txt", "--top", "1", "--exact", "--json"}).json()["rows"];
  EXPECT_EQ(rows[0]["label"], "rain");
}

TEST(TrainClassifier, JointGroups) {
  const Folder folder;
  std::string text;
  for (int g = 1; g <= 30; ++g) {
    for (int a = 0; a < 3; ++a) {
      text += std::to_string(a == g % 3) + " qid:" + std::to_string(g) +
              " 1:" + std::to_string(a == g % 3 ? 1 : 0.2 * a) + " 2:1\n";
    }
  }
  folder.write("choice.svm", text);
  ASSERT_EQ(folder.run({"train", "classifier", "choice.svm", "--out", "run", "--quiet"}).code, 0);
  const auto chosen = folder.run({"score", "run", "choice.svm", "--exact", "--json"}).json();
  ASSERT_EQ(chosen["rows"].size(), 30u);
  EXPECT_EQ(chosen["rows"][0]["label"], "1");
  const auto all =
      folder.run({"score", "run", "choice.svm", "--exact", "--json", "--candidates", "0,1,2"}).json();
  double total = 0;
  for (int a = 0; a < 3; ++a) total += std::exp(all["rows"][a]["log_prob"].get<double>());
  EXPECT_NEAR(total, 1.0, 1e-9);
  EXPECT_EQ(folder.run({"score", "run", "choice.svm", "--top", "2", "--json"}).json()["rows"].size(), 60u);
  EXPECT_EQ(folder.run({"evaluate", "run", "choice.svm", "--json"}).json()["classes"], 3);
}

TEST(TrainClassifier, WeightsAndCarrierComeFromFiles) {
  const Folder folder;
  folder.generate("data.svm", 50, 3);
  std::string weights;
  for (int i = 0; i < 50; ++i) weights += i % 2 == 0 ? "1\n" : "0.5\n";
  folder.write("w.txt", weights);
  folder.write("h.txt", "2\t-0.5\n0\t0\n1\t0.25\n");
  const Outcome trained =
      folder.run({"train", "classifier", "data.svm", "--weight-file", "w.txt", "--carrier", "h.txt", "--out",
                  "run", "--class-weight", "balanced", "--json"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(folder.run({"info", "run", "--json"}).json()["carrier"], true);
  folder.write("w.txt", "1\n1\n");
  expect_user_error(
      folder.run({"train", "classifier", "data.svm", "--quiet", "--weight-file", "w.txt", "--out", "no"}),
      "2 weights; the data have 50 examples");
  folder.write("h.txt", "2\t-0.5\n0\tx\n1\t0.25\n");
  expect_user_error(
      folder.run({"train", "classifier", "data.svm", "--quiet", "--carrier", "h.txt", "--out", "no"}),
      "h.txt:2:");
  EXPECT_FALSE(fs::exists(folder / "no"));
}

}  // namespace
}  // namespace selfnorm::cli
