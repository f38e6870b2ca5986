// Trained densities through evaluate, score, info, and the commands that take none.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <sstream>

#include "cli/density_data.h"
#include "model/energy/density_file.h"

namespace selfnorm::cli {
namespace {

class Density : public testing::Test {
 protected:
  void SetUp() override {
    write_lumps(folder);
    write_lumps(folder, "test.csv", 100, 7);
    const Outcome trained = folder.run(tiny_density("data.csv", "run", {"--quiet", "--hold-out", "0"}));
    ASSERT_EQ(trained.code, 0) << trained.err;
  }
  nlohmann::json evaluated(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{"evaluate", "run", "test.csv", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = folder.run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.json();
  }

  Folder folder;
};

// The numbers in the second column of `score`.
std::vector<double> log_densities(const Outcome& scored) {
  std::vector<double> values;
  std::istringstream lines(scored.out);
  for (std::string line; std::getline(lines, line);)
    if (line[0] != '#') values.push_back(std::stod(line.substr(line.find('\t') + 1)));
  return values;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

TEST_F(Density, EvaluationHasTheKeys) {
  const auto json = evaluated();
  for (const char* key : {"method", "value", "low", "high", "ess"})
    EXPECT_TRUE(json["log_z"].contains(key)) << key;
  for (const char* key : {"b", "nll", "nll_low", "nll_high", "snl_bound", "nll_b", "nll_error", "log_ratio"})
    EXPECT_TRUE(json[key].is_number()) << key << json;
  EXPECT_EQ(json["rows"], 100);
  EXPECT_EQ(json["trusted"], true);
  EXPECT_EQ(json["log_z"]["method"], "quadrature");
  const double nll = json["nll"], z = json["log_z"]["value"], b = json["b"];
  EXPECT_LE(json["nll_low"], nll);
  EXPECT_GE(json["nll_high"], nll);
  EXPECT_NEAR(json["nll_b"].get<double>() + z - b, nll, 1e-9);
  EXPECT_NEAR(json["snl_bound"].get<double>(), -(json["nll_b"].get<double>()) - std::exp(z - b) + 1, 1e-9);
  EXPECT_LE(json["snl_bound"].get<double>(), -nll + 1e-12);
}

// Two methods, one number.
TEST_F(Density, MethodsAgree) {
  const auto exact = evaluated({"--precision", "1e-4"});
  const auto sampled = evaluated({"--method", "importance", "--samples", "40000"});
  EXPECT_EQ(sampled["log_z"]["method"], "importance");
  EXPECT_GT(sampled["log_z"]["ess"], 100);
  EXPECT_LT(sampled["log_z"]["low"], sampled["log_z"]["high"]);
  EXPECT_NEAR(sampled["nll"].get<double>(), exact["nll"].get<double>(), 0.05);
}

TEST_F(Density, NoBareNumberFromTooFewSamples) {
  const auto json = evaluated({"--method", "importance", "--samples", "50"});
  for (const char* key : {"nll", "nll_low", "nll_high", "snl_bound"}) EXPECT_TRUE(json[key].is_null()) << key;
  EXPECT_EQ(json["trusted"], false);
  EXPECT_FALSE(json["distrust"].get<std::string>().empty());
  EXPECT_TRUE(json["nll_b"].is_number());
  const Outcome table =
      folder.run({"evaluate", "run", "test.csv", "--method", "importance", "--samples", "50"});
  EXPECT_EQ(table.code, 0);
  EXPECT_NE(table.out.find("no likelihood: "), std::string::npos) << table.out;
  expect_user_error(
      folder.run({"score", "run", "test.csv", "--exact", "--method", "importance", "--samples", "50"}),
      "--exact: ");
}

TEST_F(Density, SeveralModelsInOneTable) {
  ASSERT_EQ(folder
                .run({"train", "density", "data.csv", "--objective", "fit", "--proposal", "gaussian",
                      "--quiet", "--out", "gauss"})
                .code,
            0);
  const Outcome table = folder.run({"evaluate", "run", "gauss", "test.csv"});
  ASSERT_EQ(table.code, 0) << table.err;
  EXPECT_NE(table.out.find("\nrun "), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("\ngauss "), std::string::npos) << table.out;
  const auto json = folder.run({"evaluate", "run", "gauss", "test.csv", "--json"}).json();
  EXPECT_EQ(json["models"].size(), 2u);
  EXPECT_EQ(json["models"][1]["b"], 0);
}

// Scores are the evaluation, row by row; arrays are the table, without names.
TEST_F(Density, ScoresAddUpToTheEvaluation) {
  const auto json = evaluated();
  const Outcome raw = folder.run({"score", "run", "test.csv"});
  ASSERT_EQ(raw.code, 0) << raw.err;
  EXPECT_EQ(raw.out.rfind("# raw, ", 0), 0u) << raw.out.substr(0, 60);
  EXPECT_EQ(log_densities(raw).size(), 100u);
  EXPECT_NEAR(mean(log_densities(raw)), -json["nll_b"].get<double>(), 1e-9);
  const Outcome exact = folder.run({"score", "run", "test.csv", "--exact"});
  ASSERT_EQ(exact.code, 0) << exact.err;
  EXPECT_EQ(exact.out.rfind("# quadrature, log Z ", 0), 0u) << exact.out.substr(0, 60);
  EXPECT_NE(exact.out.find("\tquadrature\n"), std::string::npos);
  EXPECT_NEAR(mean(log_densities(exact)), -json["nll"].get<double>(), 1e-9);
  const auto scored = folder.run({"score", "run", "test.csv", "--exact", "--json"}).json();
  EXPECT_EQ(scored["kind"], "quadrature");
  EXPECT_EQ(scored["log_z"]["method"], "quadrature");
  EXPECT_EQ(scored["rows"].size(), 100u);
  EXPECT_NEAR(scored["rows"][3]["log_prob"].get<double>(), log_densities(exact)[3], 1e-12);
  EXPECT_EQ(folder.run_on(content(folder / "test.csv"), {"score", "run"}).out, raw.out);
  const Outcome piped = folder.run_on(content(folder / "test.csv"), {"score", "run", "-"});
  EXPECT_EQ(piped.out, raw.out) << piped.err;
}

TEST_F(Density, ColumnsAreFoundByNameAndCounted) {
  folder.write("swapped.csv", "y,x\n10,3\n9,-3\n");
  folder.write("straight.csv", "x,y\n3,10\n-3,9\n");
  folder.write("wide.csv", "1,2,3\n4,5,6\n");
  folder.write("other.csv", "x,z\n1,2\n");
  EXPECT_EQ(folder.run({"score", "run", "swapped.csv"}).out,
            folder.run({"score", "run", "straight.csv"}).out);
  expect_user_error(folder.run({"score", "run", "wide.csv"}), "wide.csv");
  expect_user_error(folder.run({"evaluate", "run", "other.csv"}), "other.csv");
  const Outcome dropped = folder.run({"score", "run", "wide.csv", "--drop", "2"});
  EXPECT_EQ(dropped.code, 0) << dropped.err;
}

TEST_F(Density, OptionsOfOtherModelsAreRefused) {
  const auto refused = [&](std::vector<std::string> words, const std::string& text) {
    words.insert(words.begin() + 1, {"run", "test.csv"});
    expect_user_error(folder.run(words), text);
  };
  refused({"evaluate", "--timing"}, "--timing: run is a density");
  refused({"evaluate", "--limit", "5"}, "--limit: run is a density");
  refused({"evaluate", "--target", "x"}, "--target: run is a density");
  refused({"evaluate", "--samples", "1"}, "samples = 1");
  refused({"evaluate", "--precision", "0"}, "precision = 0");
  refused({"evaluate", "--method", "enumeration"}, "enumeration");
  refused({"evaluate", "--method", "quadrature", "--samples", "9"},
          "--samples belongs to --method importance, found --method quadrature");
  refused({"evaluate", "--method", "importance", "--precision", "1e-4"},
          "--precision belongs to --method quadrature");
  refused({"score", "--exact", "--method", "annealed", "--samples", "9"}, "found --method annealed");
  refused({"score", "--top", "2"}, "--top: run is a density");
  refused({"score", "--candidates", "a"}, "--candidates: run is a density");
  refused({"score", "--samples", "9"}, "--samples: needs --exact");
  refused({"score", "--raw", "--exact"}, "only one of --raw");
  refused({"score", "--amortised"}, "--raw subtracts it");
}

TEST_F(Density, OptionsThatTheMethodFoundLeavesIdleAreNamed) {
  const Outcome evaluated = folder.run({"evaluate", "run", "test.csv", "--samples", "9"});
  EXPECT_EQ(evaluated.code, 0);
  EXPECT_NE(evaluated.err.find("--samples belongs to --method importance; log Z came by quadrature"),
            std::string::npos)
      << evaluated.err;
  EXPECT_EQ(folder.run({"evaluate", "run", "test.csv", "--precision", "1e-4"}).err, "");
  const Outcome scored = folder.run({"score", "run", "test.csv", "--exact", "--samples", "9"});
  EXPECT_NE(scored.err.find("--samples belongs to --method importance"), std::string::npos) << scored.err;
}

// As training leaves it when log Z can be found by nothing.
TEST_F(Density, AnUntrustedNormalizerIsSaidEverywhere) {
  DensityModel model = load_density(folder / "run/model.safetensors");
  model.normalizer_kind = "untrusted";
  model.log_normalizer += 500;
  std::filesystem::create_directory(folder / "bad");
  save_density(model, folder / "bad/model.safetensors");
  const std::string text = "b is not to be trusted";
  const Outcome scored = folder.run({"score", "bad", "test.csv"});
  EXPECT_EQ(scored.code, 0);
  EXPECT_NE(scored.err.find("warning: bad: " + text), std::string::npos) << scored.err;
  EXPECT_EQ(scored.out.rfind("# raw, untrusted b ", 0), 0u) << scored.out.substr(0, 60);
  EXPECT_EQ(folder.run({"score", "bad", "test.csv", "--exact"}).err, "");
  EXPECT_NE(folder.run({"info", "bad"}).out.find(text), std::string::npos);
  const Outcome table = folder.run({"evaluate", "bad", "test.csv"});
  EXPECT_NE(table.out.find(text), std::string::npos) << table.out;
  // The bound, exp(log r) away, is no wall of digits.
  EXPECT_LT(table.out.find('\n'), 150u) << table.out;
  const auto json = folder.run({"evaluate", "bad", "test.csv", "--json"}).json();
  EXPECT_EQ(json["normalizer"], "untrusted");
  EXPECT_EQ(evaluated()["normalizer"], "estimated");
  EXPECT_EQ(folder.run({"score", "run", "test.csv"}).err, "");
}

TEST_F(Density, CommandsOfClassifiersSayWhatToUse) {
  expect_user_error(folder.run({"audit", "run", "test.csv"}), "run is a density");
  expect_user_error(folder.run({"audit", "run", "test.csv"}), "selfnorm evaluate");
  expect_user_error(folder.run({"normalize", "run"}), "run is a density");
  expect_user_error(folder.run({"bounds", "run", "test.csv"}), "run is a density");
  folder.generate("data.svm", 60, 3);
  const std::string truth = "data.svm.truth.safetensors";
  expect_user_error(folder.run({"evaluate", truth, "run", "data.svm"}), "run is a density and others");
  expect_user_error(folder.run({"evaluate", truth, "data.svm", "--method", "importance"}),
                    "it is for densities");
  expect_user_error(folder.run({"score", truth, "data.svm", "--drop", "1"}), "it is for densities");
  expect_user_error(folder.run({"sample", truth, "-n", "3"}), "is not a density");
  expect_user_error(folder.run({"evaluate", "missing", "test.csv"}), "missing");
}

TEST_F(Density, DamagedFilesSayWhich) {
  const std::string model = content(folder / "run/model.safetensors");
  folder.write("cut.safetensors", model.substr(0, model.size() - 5));
  folder.write("bad.safetensors", "not a model");
  for (const std::string name : {"cut.safetensors", "bad.safetensors"}) {
    expect_user_error(folder.run({"evaluate", name, "test.csv"}), name);
    expect_user_error(folder.run({"info", name}), name);
    expect_user_error(folder.run({"sample", name, "-n", "3"}), name);
  }
}

TEST_F(Density, InfoInLines) {
  const Outcome info = folder.run({"info", "run"});
  ASSERT_EQ(info.code, 0) << info.err;
  for (const char* line : {"family", "energy.kind", "log_normalizer", "audit.log_z.method", "objective."})
    EXPECT_NE(info.out.find(line), std::string::npos) << line << info.out;
}

}  // namespace
}  // namespace selfnorm::cli
