#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "cli/density_data.h"
#include "cli/report_data.h"

namespace selfnorm::cli {
namespace {

namespace fs = std::filesystem;

TEST(TrainDensity, DataAloneGivesAnEvaluatedRun) {
  const Folder folder;
  write_lumps(folder);
  const Outcome trained = folder.run({"train", "density", "data.csv", "--steps", "20"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.err.find("read data.csv: 300 rows, 2 columns"), std::string::npos) << trained.err;
  EXPECT_NE(trained.err.find("held out: 30 rows"), std::string::npos) << trained.err;
  EXPECT_NE(trained.err.find("step "), std::string::npos) << trained.err;
  EXPECT_NE(trained.out.find("on the validation data"), std::string::npos) << trained.out;
  EXPECT_NE(trained.out.find("b - log Z"), std::string::npos) << trained.out;
  EXPECT_NE(trained.err.find("the proposal is mixture:"), std::string::npos) << trained.err;
  EXPECT_EQ(files_of(folder / "out/data-snl"),
            (std::vector<std::string>{"config.json", "metrics.jsonl", "model.safetensors", "report.html",
                                      "report.json"}));
  const auto config = nlohmann::json::parse(content(folder / "out/data-snl/config.json"));
  EXPECT_EQ(config["command"], "train density");
  EXPECT_EQ(config["options"]["steps"], 20);
  EXPECT_EQ(config["data"]["columns"], 2);
  const auto info = folder.run({"info", "out/data-snl", "--json"}).json();
  EXPECT_EQ(info["family"], "density");
  EXPECT_EQ(info["dimension"], 2);
  // Twenty steps may gain nothing on 30 rows; then the proposal is the model, and that is said.
  const bool is_proposal = trained.err.find("the model is the proposal") != std::string::npos;
  EXPECT_EQ(info["energy"]["kind"], is_proposal ? "zero" : "mlp");
  EXPECT_EQ(info["columns"][1], "y");
  EXPECT_EQ(info["audit"]["data"], "validation");
  EXPECT_EQ(info["audit"]["rows"], 30);
  // The entropy of the lumps is log(2 pi e) + 2 log 2 = 4.22 nats; 30 rows tell it to some 0.2.
  EXPECT_GT(info["audit"]["nll"].get<double>(), 3.5);
  EXPECT_LT(info["audit"]["nll"].get<double>(), 5.5);
  const auto metrics =
      nlohmann::json::parse(content(folder / "out/data-snl/metrics.jsonl")
                                .substr(0, content(folder / "out/data-snl/metrics.jsonl").find('\n')));
  for (const char* key : {"step", "loss", "log_normalizer", "log_ratio", "effective_samples"})
    EXPECT_TRUE(metrics.contains(key)) << key;
}

TEST(TrainDensity, SameBytesForAnyThreadsAndCompression) {
  const Folder folder;
  write_lumps(folder);
  expect_same_bytes_for_any_threads(folder, "data.csv", tiny_density);
}

TEST(TrainDensity, EveryObjectiveOfRealData) {
  const Folder folder;
  write_lumps(folder, "data.csv", 100);
  const std::vector<std::vector<std::string>> plans{
      {"snl"},
      {"snl", "--normalizer", "zero"},
      {"snl", "--learn-proposal", "both"},
      {"snl", "--no-calibrate"},
      {"is"},
      {"nce"},
      {"ranking-nce"},
      {"cd", "--langevin-steps", "2"},
      {"pcd", "--langevin-steps", "2", "--langevin-step", "0.2"},
      {"dsm", "--noise", "0.2"},
      {"ssm", "--slices", "2"},
      {"sm"}};
  for (const auto& plan : plans) {
    std::vector<std::string> words =
        small_density("data.csv", "run", {"--energy", "mlp:8", "--fourier", "0"});
    words.insert(words.end(), {"--proposal", "gaussian", "--overwrite", "--json", "--quiet", "--objective"});
    words.insert(words.end(), plan.begin(), plan.end());
    const Outcome trained = folder.run(words);
    ASSERT_EQ(trained.code, 0) << plan[0] << trained.err;
    const auto audit = trained.json()["audit"];
    EXPECT_TRUE(audit["nll"].is_number()) << plan[0] << audit;
    EXPECT_TRUE(audit["b"].is_number()) << plan[0] << audit;
  }
}

// A network that tilts nothing need not have an integral: then no number is given.
TEST(TrainDensity, ANetworkWithoutABaseIsToldFromADensity) {
  const Folder folder;
  write_lumps(folder, "data.csv", 100);
  const auto audit =
      folder.run(tiny_density("data.csv", "run", {"--base", "none", "--json", "--quiet"})).json()["audit"];
  EXPECT_EQ(audit["trusted"], false) << audit;
  EXPECT_TRUE(audit["nll"].is_null()) << audit;
  EXPECT_FALSE(audit["distrust"].get<std::string>().empty());
}

// b comes out as log Z: by calibration, to the error of the estimate.
TEST(TrainDensity, TheStoredNormalizerIsLogZ) {
  const Folder folder;
  write_lumps(folder);
  const auto audit = folder.run(tiny_density("data.csv", "run", {"--json", "--quiet"})).json()["audit"];
  EXPECT_NEAR(audit["b"].get<double>(), audit["log_z"]["value"].get<double>(), 0.02) << audit;
  EXPECT_NEAR(audit["snl_bound"].get<double>(), -audit["nll"].get<double>(), 1e-3) << audit;
}

// The closed form of the maximum of a Gaussian's likelihood: d/2 (1 + log 2 pi) + 1/2 log det S.
TEST(TrainDensity, AFittedGaussianIsTheMaximumOfTheLikelihood) {
  const Folder folder;
  write_lumps(folder);
  const Outcome fitted = folder.run({"train", "density", "data.csv", "--objective", "fit", "--proposal",
                                     "gaussian", "--hold-out", "0", "--json", "--quiet", "--out", "run"});
  ASSERT_EQ(fitted.code, 0) << fitted.err;
  std::minstd_rand random(1);
  double sum[2] = {}, square[3] = {};
  for (int i = 0; i < 300; ++i) {
    const double x = static_cast<float>(normal(random) + (i % 2 == 0 ? 3 : -3));
    const double y = static_cast<float>(10 + 2 * normal(random));
    sum[0] += x / 300, sum[1] += y / 300;
    square[0] += x * x / 300, square[1] += x * y / 300, square[2] += y * y / 300;
  }
  const double xx = square[0] - sum[0] * sum[0], xy = square[1] - sum[0] * sum[1],
               yy = square[2] - sum[1] * sum[1];
  const double expected = 1 + std::log(2 * M_PI) + 0.5 * std::log(xx * yy - xy * xy);
  const auto audit = fitted.json()["audit"];
  EXPECT_EQ(audit["data"], "training");
  EXPECT_EQ(audit["b"], 0);
  EXPECT_NEAR(audit["nll_b"].get<double>(), expected, 1e-3);
  EXPECT_NEAR(audit["nll"].get<double>(), expected, 2e-3);
  for (const std::string proposal : {"mixture:2", "kde", "student-t", "gaussian:diagonal", "uniform"}) {
    const Outcome other = folder.run({"train", "density", "data.csv", "--objective", "fit", "--proposal",
                                      proposal, "--json", "--quiet", "--overwrite", "--out", "run"});
    ASSERT_EQ(other.code, 0) << proposal << other.err;
    EXPECT_TRUE(other.json()["audit"]["nll"].is_number()) << proposal << other.out;
  }
}

// An energy that follows 60 rows does worse on others from the start.
TEST(TrainDensity, EndsWhenHeldOutRowsGainNothing) {
  const Folder folder;
  write_lumps(folder, "data.csv", 60);
  const std::vector<std::string> words{
      "train", "density", "data.csv", "--energy",  "mlp:32", "--proposal",      "gaussian", "--steps",
      "2000",  "--batch", "32",       "--samples", "64",     "--learning-rate", "0.02",     "--out"};
  const auto trained = [&](const std::string& out, const std::vector<std::string>& more) {
    std::vector<std::string> all = words;
    all.push_back(out);
    all.insert(all.end(), more.begin(), more.end());
    const Outcome outcome = folder.run(all);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome;
  };
  const std::string said = trained("short", {}).out;
  EXPECT_NE(said.find("validation did not improve in 5 checks (kept: step "), std::string::npos) << said;
  EXPECT_EQ(trained("whole", {"--patience", "0"}).out.find("did not improve"), std::string::npos);
}

TEST(TrainDensity, BitsByPseudoLikelihoodAndEnumeration) {
  const Folder folder;
  write_bits(folder);
  for (const std::string objective : {"pseudo-likelihood", "snl", "nce"}) {
    const Outcome trained = folder.run(
        small_density("bits.csv", "run",
                      {"--energy", "ising", "--objective", objective, "--optimiser", "adam",
                       "--learning-rate", "0.05", "--patience", "0", "--overwrite", "--json", "--quiet"}));
    ASSERT_EQ(trained.code, 0) << objective << trained.err;
    const auto audit = trained.json()["audit"];
    EXPECT_EQ(audit["log_z"]["method"], "enumeration") << objective;
    EXPECT_EQ(audit["log_z"]["low"], audit["log_z"]["high"]) << objective;
    EXPECT_LT(audit["nll"].get<double>(), 4 * std::log(2)) << objective;  // better than fair coins
  }
  EXPECT_EQ(folder.run({"info", "run", "--json"}).json()["space"], "levels");
}

// x >= 0 by an end of the box that is none: the maximum of the likelihood of exp(eta x) is at mean 1 / -eta,
// and its NLL 1 + log mean.
TEST(TrainDensity, BoxesMayBeHalfLines) {
  const Folder folder;
  folder.write("positive.csv", "x\n0.5\n2\n1\n0.25\n3.75\n1.5\n");
  const auto nll = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"train",      "density", "positive.csv", "--json", "--quiet",
                                   "--hold-out", "0",       "--out",        "run",    "--overwrite"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome trained = folder.run(words);
    EXPECT_EQ(trained.code, 0) << trained.err;
    return trained.code == 0 ? trained.json()["audit"]["nll"].get<double>() : NAN;
  };
  EXPECT_NEAR(nll({"--energy", "family:x", "--lower", "0", "--upper", "inf"}), 1 + std::log(1.5), 1e-4);
  const double half = nll({"--energy", "truncated-gaussian", "--lower", "0", "--upper", "inf"});
  const double whole = nll({"--energy", "truncated-gaussian", "--lower", "-inf", "--upper", "inf"});
  EXPECT_LT(half, whole);
  EXPECT_NEAR(whole, nll({"--energy", "gaussian"}), 1e-3);
}

TEST(TrainDensity, ValidationDataDroppedColumnsAndNoHeader) {
  const Folder folder;
  write_lumps(folder);
  write_lumps(folder, "valid.csv", 40, 2);
  folder.write("bare.csv", "1,2,7\n2,1,7\n3,5,8\n0,2,9\n");
  const Outcome trained = folder.run(tiny_density("data.csv", "run", {"--valid", "valid.csv"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.err.find("validation: valid.csv: 40 rows"), std::string::npos) << trained.err;
  EXPECT_EQ(folder.run({"info", "run", "--json"}).json()["audit"]["rows"], 40);
  const Outcome dropped = folder.run(tiny_density("bare.csv", "bare", {"--drop", "0,2", "--header", "no"}));
  ASSERT_EQ(dropped.code, 0) << dropped.err;
  const auto info = folder.run({"info", "bare", "--json"}).json();
  EXPECT_EQ(info["dimension"], 1);
  EXPECT_EQ(info["audit"]["data"], "training");  // four rows cannot spare any
  const Outcome named = folder.run(tiny_density("data.csv", "named", {"--drop", "x"}));
  ASSERT_EQ(named.code, 0) << named.err;
  EXPECT_EQ(folder.run({"info", "named", "--json"}).json()["columns"][0], "y");
}

// Sends `signal` once the run has written a checkpoint and a few lines of metrics.
std::function<void(pid_t)> after_some_steps(const Folder& folder, const std::string& out, int signal) {
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

class DensityResume : public testing::TestWithParam<std::string> {};

TEST_P(DensityResume, SameBytesAfterASignal) {
  const Folder folder;
  write_lumps(folder);
  write_lumps(folder, "other.csv", 299);
  const auto words = [](const std::string& out) {
    return std::vector<std::string>{"train",
                                    "density",
                                    "data.csv",
                                    "--quiet",
                                    "--objective",
                                    GetParam(),
                                    "--steps",
                                    "300",
                                    "--energy",
                                    "mlp:8",
                                    "--proposal",
                                    "gaussian",
                                    "--batch",
                                    "32",
                                    "--patience",
                                    "0",
                                    "--out",
                                    out,
                                    "--checkpoint-seconds",
                                    "0"};
  };
  ASSERT_EQ(folder.run(words("whole")).code, 0);
  for (const int signal : {SIGKILL, SIGINT}) {
    const std::string cut = signal == SIGKILL ? "killed" : "stopped";
    const Outcome outcome = folder.run(words(cut), after_some_steps(folder, cut, signal));
    ASSERT_EQ(outcome.code, signal == SIGKILL ? 128 + SIGKILL : 130) << "the run ended before the signal";
    expect_user_error(folder.run({"train", "density", "--resume", "--quiet", "--out", cut, "--batch", "7"}),
                      "--batch is 7");
    expect_user_error(folder.run({"train", "density", "other.csv", "--resume", "--quiet", "--out", cut}),
                      "other.csv is not the data");
    expect_user_error(folder.run({"evaluate", cut, "data.csv"}), "the run is not finished");
    const Outcome resumed = folder.run({"train", "density", "--resume", "--out", cut, "--threads", "1"});
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_TRUE(content(folder / "whole/model.safetensors") ==
                content(folder / (cut + "/model.safetensors")));
    EXPECT_TRUE(shown_of(folder / "whole") == shown_of(folder / cut));
    EXPECT_EQ(files_of(folder / cut),
              (std::vector<std::string>{"config.json", "metrics.jsonl", "model.safetensors", "report.html",
                                        "report.json"}));
  }
  const Outcome complete = folder.run({"train", "density", "--resume", "--out", "killed"});
  EXPECT_EQ(complete.code, 0);
  EXPECT_NE(complete.err.find("complete"), std::string::npos);
  expect_user_error(folder.run({"train", "lm", "--resume", "--out", "killed"}), "'selfnorm train density'");
}

INSTANTIATE_TEST_SUITE_P(All, DensityResume, testing::Values("snl", "nce", "pcd"));

// The last good parameters are kept, and the run says what to change.
TEST(TrainDensity, DivergenceKeepsAGoodModel) {
  const Folder folder;
  write_lumps(folder);
  const Outcome trained = folder.run(tiny_density(
      "data.csv", "run", {"--learning-rate", "1e30", "--schedule", "constant", "--clip", "1e30"}));
  ASSERT_EQ(trained.code, 3) << trained.err;
  EXPECT_NE(trained.err.find("training diverged"), std::string::npos) << trained.err;
  const auto json = folder.run({"evaluate", "run", "data.csv", "--json"}).json();
  EXPECT_TRUE(json["nll_b"].is_number()) << json;
}

}  // namespace
}  // namespace selfnorm::cli
