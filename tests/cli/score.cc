#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "cli/program.h"
#include "model/model_file.h"
#include "model/safetensors_writer.h"

namespace selfnorm::cli {
namespace {

TEST(Score, WithoutOptionsTheLabelOfTheData) {
  const Folder folder;
  folder.generate();
  const auto json = folder.run({"score", kTruth, "data.svm", "--json"}).json();
  EXPECT_EQ(json["kind"], "exact");
  ASSERT_EQ(json["rows"].size(), 300u);
  EXPECT_EQ(json["rows"][7]["row"], 7);
  const auto evaluation = folder.run({"evaluate", kTruth, "data.svm", "--json"}).json();
  double nll = 0;
  for (const auto& row : json["rows"]) nll -= row["log_prob"].get<double>() / 300;
  EXPECT_NEAR(nll, evaluation["nll_exact"].get<double>(), 1e-5);
}

// By their names, or by a pattern, in the order of the names.
TEST(Score, SeveralFilesAreOne) {
  const Folder folder;
  folder.generate();
  const std::string all = content(folder / "data.svm");
  const size_t cut = all.find('\n', all.size() / 2) + 1;
  folder.write("part-2.svm", all.substr(cut));
  folder.write("part-1.svm", all.substr(0, cut));
  const std::string whole = folder.run({"score", kTruth, "data.svm"}).out;
  EXPECT_FALSE(whole.empty());
  EXPECT_EQ(folder.run({"score", kTruth, "part-1.svm", "part-2.svm"}).out, whole);
  EXPECT_EQ(folder.run({"score", kTruth, "part-*.svm"}).out, whole);
  const auto audited = [&](const std::vector<std::string>& data) {
    std::vector<std::string> words{"audit", kTruth, "--no-report", "--json"};
    words.insert(words.begin() + 2, data.begin(), data.end());
    nlohmann::json found = folder.run(words).json();
    for (const char* of_the_file : {"data", "report"}) found.erase(of_the_file);
    return found;
  };
  EXPECT_EQ(audited({"part-1.svm", "part-2.svm"}), audited({"data.svm"}));
  const auto evaluated = [&](const std::string& data) {
    nlohmann::json found = folder.run({"evaluate", kTruth, data, "--json"}).json();
    found.erase("data");
    return found;
  };
  EXPECT_EQ(evaluated("part-?.svm"), evaluated("data.svm"));
  folder.write("part-3.svm", "0 1:1\n1 2:x\n");
  expect_user_error(folder.run({"evaluate", kTruth, "part-*.svm"}), "part-3.svm:2: ");
}

TEST(Score, ExactLogProbabilitiesSumToOne) {
  const Folder folder;
  folder.generate();
  const auto json = folder.run({"score", kTruth, "data.svm", "--top", "4", "--exact", "--json"}).json();
  EXPECT_EQ(json["kind"], "exact");
  ASSERT_EQ(json["rows"].size(), 1200u);
  double total = 0;
  for (int i = 0; i < 4; ++i) total += std::exp(json["rows"][i]["log_prob"].get<double>());
  EXPECT_NEAR(total, 1.0, 1e-6);
  EXPECT_GE(json["rows"][0]["log_prob"], json["rows"][1]["log_prob"]);
}

// Lines that are no rows have numbers too, in files as on standard input.
TEST(Score, RowsHaveTheNumbersOfTheInput) {
  const Folder folder;
  folder.generate();
  const std::string rows = "\n0 1:1\n\n# a comment\n1 1:2\nbad\n2 1:3\n\n";
  folder.write("blank.svm", rows);
  const std::vector<std::string> words = {"score", kTruth,    "blank.svm", "--skip-bad",
                                          "1",     "--quiet", "--json",    "--exact"};
  std::vector<std::string> piped = words;
  piped[2] = "-";
  for (const auto& json : {folder.run(words).json(), folder.run_on(rows, piped).json()}) {
    ASSERT_EQ(json["rows"].size(), 3u);
    EXPECT_EQ(json["rows"][0]["row"], 1);
    EXPECT_EQ(json["rows"][1]["row"], 4);
    EXPECT_EQ(json["rows"][2]["row"], 6);
  }
  folder.write("text.tsv", "a\tgood fine\nb\tbad poor\na\tfine\nb\tpoor\n");
  ASSERT_EQ(
      folder.run({"train", "classifier", "text.tsv", "--hold-out", "0", "--out", "run", "--quiet"}).code, 0);
  const auto text = folder.run_on("good\n\npoor\n", {"score", "run", "-", "--top", "1", "--format", "text",
                                                     "--header", "no", "--json", "--quiet"});
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_EQ(text.json()["rows"][1]["row"], 2);
  EXPECT_EQ(text.json()["rows"][1]["label"], "b");
}

TEST(Score, Int8WeightsOnTheLargestInputs) {
  const Folder folder;
  std::string rows;
  for (int i = 0; i < 40; ++i) rows += fmt::format("{} 1:{}e37 2:{}e37\n", i % 2, i % 2 + 1, 3 - i % 3);
  folder.write("large.svm", rows);
  const Outcome trained = folder.run({"train", "classifier", "large.svm", "--weights", "int8", "--hold-out",
                                      "0", "--out", "run", "--quiet"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const Outcome scored = folder.run({"score", "run", "large.svm", "--exact", "--json", "--quiet"});
  ASSERT_EQ(scored.code, 0) << scored.err;
  const auto json = scored.json();
  for (const auto& row : json["rows"]) EXPECT_LE(row["log_prob"].get<double>(), 0);
}

TEST(Score, TextFormSaysItsKindInEveryRow) {
  const Folder folder;
  folder.generate("data.svm", 2);
  const Outcome outcome = folder.run({"score", kTruth, "data.svm", "--candidates", "3,0", "--raw"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.rfind("# raw\n0\t3\t", 0), 0u) << outcome.out;
  EXPECT_NE(outcome.out.find("\n1\t0\t"), std::string::npos);
  EXPECT_NE(outcome.out.find("\traw\n"), std::string::npos);
}

TEST(Score, LabelsWithCommasAndQuotes) {
  const Folder folder;
  folder.write("data.csv", "x,label\n1,\"a,b\"\n2,\"a,b\"\n-1,\"say \"\"c\"\"\"\n-2,\"say \"\"c\"\"\"\n");
  ASSERT_EQ(
      folder.run({"train", "classifier", "data.csv", "--hold-out", "0", "--out", "run", "--quiet"}).code, 0);
  const auto json =
      folder.run({"score", "run", "data.csv", "--json", "--candidates", "\"a,b\",\"say \"\"c\"\"\""}).json();
  EXPECT_EQ(json["rows"][0]["label"], "a,b");
  EXPECT_EQ(json["rows"][1]["label"], "say \"c\"");
  folder.write("labels.txt", "say \"c\"\na,b\n");
  const auto listed =
      folder.run({"score", "run", "data.csv", "--json", "--candidates-file", "labels.txt"}).json();
  EXPECT_EQ(listed["rows"][1]["log_prob"], json["rows"][0]["log_prob"]);
  expect_user_error(folder.run({"score", "run", "data.csv", "--candidates", "nobody"}), "'nobody'");
}

TEST(Score, AnEmptyOptionIsNotTheSameAsNone) {
  const Folder folder;
  folder.generate();
  expect_user_error(folder.run({"score", kTruth, "data.svm", "--candidates", ""}), "--candidates");
}

TEST(Score, RawScoresWhoseLogZWasLeftFreeCarryAWarning) {
  const Folder folder;
  folder.generate();
  for (const std::string objective : {"exact", "ranking-nce", "is", "nce", "snl"}) {
    ASSERT_EQ(
        folder.run({"train", "classifier", "data.svm", "--objective", objective, "--out", objective}).code,
        0);
    const Outcome raw = folder.run({"score", objective, "data.svm", "--raw"});
    EXPECT_EQ(raw.code, 0);
    const bool is_warned = raw.err.find("not log-probabilities") != std::string::npos;
    EXPECT_EQ(is_warned, objective != "nce" && objective != "snl") << raw.err;
    EXPECT_EQ(folder.run({"score", objective, "data.svm", "--exact"}).err, "");
    EXPECT_EQ(folder.run({"score", objective, "data.svm"}).err, "");
  }
}

// The truth with b(x) = 0.5 + 0.1 x_0 - 0.2 x_1 + 0.75 max(0, x_2 + 0.25).
void add_normalizer(const Folder& folder) {
  ModelFile model = load_model(folder / kTruth);
  AmortisedNormalizer& b = model.normalizer;
  b.intercept = 0.5;
  b.slope.assign(model.features, 0);
  b.slope[0] = 0.1f;
  b.slope[1] = -0.2f;
  b.hidden_weight.assign(model.features, 0);
  b.hidden_weight[2] = 1;
  b.hidden_bias = {0.25f};
  b.output = {0.75f};
  save_model(model, folder / "amortised");
}

TEST(Score, AmortisedWhereTheModelHasItAndItIsAskedFor) {
  const Folder folder;
  folder.generate();
  add_normalizer(folder);
  const auto scored = [&folder](std::vector<std::string> more) {
    more.insert(more.begin(), {"score", "amortised", "data.svm", "--json"});
    return folder.run(more).json();
  };
  const auto amortised = scored({"--amortised"}), raw = scored({"--raw"}), exact = scored({"--exact"});
  EXPECT_EQ(scored({}), exact);
  EXPECT_EQ(amortised["kind"], "amortised");
  EXPECT_EQ(raw["kind"], "raw");
  EXPECT_EQ(exact["kind"], "exact");
  std::istringstream data(content(folder / "data.svm"));
  std::string line;
  double nll = 0;
  for (size_t i = 0; std::getline(data, line); ++i) {
    const auto has = [&line](const char* feature) { return line.find(feature) != std::string::npos; };
    const double b =
        0.5 + (has(" 1:1") ? 0.1 : 0) - (has(" 2:1") ? 0.2 : 0) + 0.75 * (has(" 3:1") ? 1.25 : 0.25);
    const double found = amortised["rows"][i]["log_prob"], without = raw["rows"][i]["log_prob"];
    ASSERT_NEAR(found, without - b, 1e-6) << line;
    nll -= found / 300;
  }
  EXPECT_EQ(raw, folder.run({"score", kTruth, "data.svm", "--json", "--raw"}).json());
  const Outcome best = folder.run({"score", "amortised", "data.svm", "--top", "1", "--amortised"});
  EXPECT_EQ(best.out.rfind("# amortised\n0\t", 0), 0u);
  expect_user_error(folder.run({"score", kTruth, "data.svm", "--amortised"}), "has no b(x)");
  expect_user_error(folder.run({"score", "amortised", "data.svm", "--raw", "--exact"}), "only one of --raw");

  const auto report = folder.run({"evaluate", "amortised", "data.svm", "--json", "--timing"}).json();
  EXPECT_NEAR(report["nll_amortised"].get<double>(), nll, 1e-5);
  EXPECT_NEAR(report["nll_exact"].get<double>() - nll, report["log_z_amortised"]["mean"].get<double>(), 1e-5);
  EXPECT_GT(report["score_ns_amortised"], 0);
  const std::string table = folder.run({"evaluate", "amortised", kTruth, "data.svm"}).out;
  EXPECT_NE(table.find("NLL amortised"), std::string::npos) << table;
  EXPECT_NE(folder.run({"evaluate", "amortised", "data.svm"}).out.find("\nlog Z - c - b: mean"),
            std::string::npos);
  const auto info = folder.run({"info", "amortised", "--json"}).json();
  EXPECT_EQ(info["normalizer"]["kind"], "mlp");
  EXPECT_EQ(info["normalizer"]["hidden"], 1);
  EXPECT_FALSE(folder.run({"info", kTruth, "--json"}).json().contains("normalizer"));
}

TEST(Score, NormalisedModelsCarryNoWarning) {
  const Folder folder;
  folder.generate();
  ModelFile model = load_model(folder / kTruth);
  const auto errors = [&](const char* objective) {
    model.objective_json = objective;
    save_model(model, folder / "model");
    const Outcome outcome = folder.run({"score", "model", "data.svm", "--raw"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.err;
  };
  EXPECT_NE(errors(R"({"name": "exact"})"), "");
  EXPECT_NE(errors(R"({"name": "exact", "normalized": false})"), "");
  EXPECT_EQ(errors(R"({"name": "exact", "normalized": true})"), "");
  EXPECT_EQ(errors(R"({"name": "penalty"})"), "");
  EXPECT_EQ(errors(R"({"name": 3})"), "");
  EXPECT_EQ(errors("[1]"), "");
}

TEST(Score, ALargeStoredRmsOfLogZIsAWarningWhereScoresAreNotNormalised) {
  const Folder folder;
  folder.generate();
  ModelFile model = load_model(folder / kTruth);
  model.objective_json = R"({"name": "penalty"})";
  const auto errors = [&](const std::string& audit, const std::string& option) {
    model.audit_json = audit;
    save_model(model, folder / "model");
    return folder.run({"score", "model", "data.svm", option}).err;
  };
  EXPECT_NE(errors(R"({"log_z": {"rms": 0.31}})", "--raw").find("the rms of log Z on held-out data is 0.31"),
            std::string::npos);
  EXPECT_EQ(errors(R"({"log_z": {"rms": 0.31}})", "--exact"), "");
  EXPECT_EQ(errors(R"({"log_z": {"rms": 0.29}})", "--raw"), "");
  EXPECT_EQ(errors("{}", "--raw"), "");
  EXPECT_EQ(errors(R"({"log_z": 3})", "--raw"), "");
}

// However many classes there are: nothing is served that is not certified.
TEST(Score, ExactWithoutALadder) {
  const Folder folder;
  folder.write("x.csv", "1,2\n3,4\n");
  const std::vector<float> weight(20'000);
  write_safetensors(folder / "head.safetensors",
                    {make_tensor("weight", runtime::Dtype::F32, {10'000, 2}, std::span(weight))}, {});
  const auto kind = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"score", "head.safetensors", "x.csv", "--candidates", "7", "--json"});
    return folder.run(more).json()["kind"];
  };
  EXPECT_EQ(kind({}), "exact");
  EXPECT_EQ(kind({"--within", "100"}), "exact");
  EXPECT_EQ(kind({"--exact"}), "exact");
  EXPECT_EQ(kind({"--raw"}), "raw");
}

TEST(Score, WithoutDataStandardInput) {
  const Folder folder;
  folder.generate();
  const Outcome piped = folder.run_on(content(folder / "data.svm"), {"score", kTruth});
  EXPECT_EQ(piped.code, 0) << piped.err;
  EXPECT_EQ(piped.out, folder.run({"score", kTruth, "data.svm"}).out);
}

TEST(Score, AnUnfinishedRunSaysHowToContinue) {
  const Folder folder;
  folder.generate();
  folder.write("checkpoint.safetensors", "");
  expect_user_error(folder.run({"score", ".", "data.svm"}), "--resume");
}

TEST(Score, FullDiskIsAnError) {
  const Folder folder;
  folder.generate();
  const std::string command = "cd " + folder.path() + " && " SELFNORM_PROGRAM " score " + kTruth +
                              " data.svm > /dev/full 2>err; echo $? > code";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(content(folder / "code"), "1\n");
  EXPECT_NE(content(folder / "err").find("No space left"), std::string::npos);
}

TEST(Score, ReaderOfThePipeMayLeave) {
  const Folder folder;
  folder.generate("data.svm", 20000);
  const std::string command = "cd " + folder.path() + " && " SELFNORM_PROGRAM " score " + kTruth +
                              " data.svm --top 4 2>err | head -1 > out";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(content(folder / "err"), "");
  EXPECT_EQ(content(folder / "out"), "# exact\n");
}

}  // namespace
}  // namespace selfnorm::cli
