#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cli/report_data.h"
#include "cli/trained_crf.h"
#include "model/crf/crf_model.h"

namespace selfnorm::cli {
namespace {

namespace fs = std::filesystem;

// Statistics of the same levels; sums may be added in another order.
void expect_same(const nlohmann::json& found, const nlohmann::json& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [key, number] : expected.items())
    EXPECT_NEAR(found.at(key).get<double>(), number.get<double>(), 1e-9) << key;
}

TEST(CrfNormalize, IsLosslessAndNormalises) {
  const Trained folder;
  const Outcome outcome =
      folder.normalize({"--states", "test.conll", "-o", "n.safetensors", "--hold-out", "0.5", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = outcome.json();
  for (const char* key : {"fitted",
                          "held_out",
                          "variance_before",
                          "variance_left",
                          "v_star",
                          "r_squared",
                          "r_squared_held_out",
                          "rank",
                          "condition",
                          "ridge",
                          "log_z_before",
                          "log_z_lossless",
                          "compared",
                          "max_probability_difference",
                          "max_log_probability_difference",
                          "log_z",
                          "log_z_per_token_before",
                          "log_z_per_token_lossless",
                          "log_z_per_token",
                          "by_length_before",
                          "by_length",
                          "nll_exact",
                          "nll_raw",
                          "report"})
    EXPECT_TRUE(json.contains(key)) << key;
  EXPECT_EQ(json["fitted"], 200);
  EXPECT_EQ(json["held_out"], 200);
  EXPECT_EQ(json["compared"], 200);
  EXPECT_LT(json["max_probability_difference"].get<double>(), 1e-4);
  EXPECT_LT(json["max_log_probability_difference"].get<double>(), 1e-3);
  EXPECT_LT(json["log_z"]["rms"].get<double>(), 0.5 * json["log_z_before"]["rms"].get<double>());
  EXPECT_LT(json["log_z_per_token"]["rms"].get<double>(),
            0.5 * json["log_z_per_token_before"]["rms"].get<double>());
  EXPECT_NEAR(json["nll_exact"].get<double>(), json["nll_exact_before"].get<double>(), 1e-4);
  EXPECT_FALSE(json.contains("amortisation"));

  const auto before = folder.run({"evaluate", "run", "test.conll", "--json"}).json();
  const auto after = folder.run({"evaluate", "n.safetensors", "test.conll", "--json"}).json();
  EXPECT_NEAR(after["nll_exact"].get<double>(), before["nll_exact"].get<double>(), 1e-4);
  EXPECT_EQ(after["accuracy"], before["accuracy"]);
  EXPECT_LT(std::abs(after["nll_raw"].get<double>() - after["nll_exact"].get<double>()),
            std::abs(before["nll_raw"].get<double>() - before["nll_exact"].get<double>()));
  const auto info = folder.run({"info", "n.safetensors", "--json"}).json();
  EXPECT_EQ(info["objective"]["normalized"], true);
  EXPECT_EQ(info["audit"]["data"], "held-out sentences of selfnorm normalize");
  EXPECT_EQ(info["audit"]["sentences"], 200);
  // It is normalised, though not perfectly: the objective is not to be warned of.
  const Outcome tagged = folder.run({"tag", "n.safetensors", "test.conll", "--score", "raw"});
  EXPECT_EQ(tagged.code, 0);
  EXPECT_EQ(tagged.err.find("leaves log Z free"), std::string::npos) << tagged.err;
  EXPECT_NE(tagged.out.find("kind=raw"), std::string::npos);
}

TEST(CrfNormalize, DataNeedNoLabels) {
  const Trained folder;
  const auto labelled =
      folder.normalize({"--states", "test.conll", "-o", "a.safetensors", "--json", "--quiet"}).json();
  const Outcome outcome =
      folder.normalize({"--states", "words.conll", "-o", "b.safetensors", "--json", "--quiet"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.json()["log_z"], labelled["log_z"]);
  EXPECT_FALSE(outcome.json().contains("nll_exact"));
  EXPECT_TRUE(checked_figures(outcome.json()["report"]).contains("log_z_by_length_states"));
  const auto info = folder.run({"info", "b.safetensors", "--json"}).json();
  expect_same(info["audit"]["log_z"], labelled["log_z"]);
}

TEST(CrfNormalize, AmortisedIsOfTheModelAsItIs) {
  const Trained folder;
  const Outcome outcome = folder.normalize({"--states", "test.conll", "-o", "n.safetensors", "--hold-out",
                                            "0.5", "--amortise", "linear", "--json", "--quiet"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = outcome.json();
  EXPECT_LT(json["log_z"]["rms"].get<double>(), 0.2 * json["log_z_before"]["rms"].get<double>());
  EXPECT_LT(json["amortisation"]["rms_training"].get<double>(),
            0.2 * json["log_z_before"]["rms"].get<double>());
  EXPECT_EQ(json["nll_raw"], json["nll_raw_before"]);
  EXPECT_EQ(json["nll_exact"], json["nll_exact_before"]);
  for (const char* key : {"log_z_lossless", "log_z_per_token_lossless", "max_probability_difference",
                          "v_star", "variance_left", "compared"})
    EXPECT_FALSE(json.contains(key)) << key;
  const CrfModel model = load_crf(folder / "n.safetensors");
  EXPECT_EQ(model.theta, load_crf(folder / "run/model.safetensors").theta);
  EXPECT_GT(std::ranges::count_if(model.normalizer.slope, [](float b) { return std::abs(b) > 1e-3f; }), 10);
  const auto info = folder.run({"info", "n.safetensors", "--json"}).json();
  EXPECT_FALSE(info["objective"].contains("normalized"));
  // The model says both, with and without b.
  expect_same(info["audit"]["log_z"], json["log_z_before"]);
  expect_same(info["audit"]["log_z_amortised"], json["log_z_amortised"]);
  EXPECT_EQ(info["audit"]["nll_amortised"], json["nll_amortised"]);
  EXPECT_EQ(info["audit"]["by_length"][0]["rms_amortised"], json["by_length"][0]["rms"]);
  const std::string page = json["report"].dump();
  EXPECT_NE(page.find("less b(x)"), std::string::npos);
  EXPECT_EQ(page.find("\"lossless\""), std::string::npos);
  const Outcome unlabelled = folder.normalize({"--states", "words.conll", "-o", "w.safetensors", "--hold-out",
                                               "0.5", "--amortise", "linear", "--quiet"});
  const auto words = folder.run({"info", "w.safetensors", "--json"}).json();
  for (const char* key : {"log_z", "log_z_amortised", "log_z_per_token", "log_z_amortised_per_token"})
    expect_same(words["audit"][key], info["audit"][key]);
  EXPECT_EQ(words["audit"]["by_length"], info["audit"]["by_length"]);
  EXPECT_NE(unlabelled.out.find("weights stay as they are"), std::string::npos) << unlabelled.out;
  EXPECT_EQ(unlabelled.out.find("lossless"), std::string::npos) << unlabelled.out;
  // A b that is there is replaced.
  ASSERT_EQ(folder
                .run({"normalize", "n.safetensors", "--states", "test.conll", "-o", "again.safetensors",
                      "--hold-out", "0.5", "--amortise", "linear", "--quiet"})
                .code,
            0);
  EXPECT_EQ(content(folder / "again.safetensors"), content(folder / "n.safetensors"));
}

TEST(CrfNormalize, AmortisedIsSubtractedEverywhere) {
  const Trained folder;
  const Outcome outcome = folder.normalize(
      {"--states", "test.conll", "-o", "n.safetensors", "--amortise", "linear", "--json", "--quiet"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = outcome.json();
  EXPECT_EQ(json["amortisation"]["hidden"], 0);
  EXPECT_EQ(json["log_z"], json["log_z_amortised"]);
  EXPECT_EQ(json["log_z_per_token"], json["log_z_amortised_per_token"]);
  const auto evaluation = folder.run({"evaluate", "n.safetensors", "test.conll", "--json"}).json();
  const auto audit =
      folder.run({"audit", "n.safetensors", "test.conll", "--json", "--no-report", "--quiet"}).json();
  EXPECT_EQ(audit["kind"], "amortised");
  EXPECT_NEAR(audit["log_z"]["rms"].get<double>(), evaluation["log_z_amortised"]["rms"].get<double>(), 1e-9);
  const auto raw =
      folder.run({"audit", "n.safetensors", "test.conll", "--raw", "--json", "--no-report", "--quiet"})
          .json();
  EXPECT_EQ(raw["kind"], "raw");
  EXPECT_NE(raw["log_z"]["mean"], audit["log_z"]["mean"]);
  EXPECT_NEAR(raw["evaluation"]["log_z"]["mean"].get<double>(), raw["log_z"]["mean"].get<double>(), 1e-9);
  EXPECT_NEAR(raw["v_star"].get<double>(), audit["v_star"].get<double>(), 1e-9);
  const auto scored = folder.run({"score", "n.safetensors", "test.conll", "--json", "--amortised"}).json();
  EXPECT_EQ(scored["kind"], "amortised");
  const auto exact = folder.run({"score", "n.safetensors", "test.conll", "--exact", "--json"}).json();
  double mean = 0;
  for (size_t i = 0; i < 400; ++i)
    mean +=
        (scored["sentences"][i]["log_prob"].get<double>() - exact["sentences"][i]["log_prob"].get<double>()) /
        400;
  EXPECT_NEAR(mean, evaluation["log_z_amortised"]["mean"].get<double>(), 1e-4);
  const Outcome tagged = folder.run({"tag", "n.safetensors", "words.conll", "--score", "raw"});
  EXPECT_NE(tagged.out.find("kind=amortised"), std::string::npos);
  const Outcome again = folder.run({"normalize", "n.safetensors", "--states", "test.conll"});
  EXPECT_EQ(again.code, 0);
  EXPECT_NE(again.err.find("the b(x) stored in n.safetensors"), std::string::npos) << again.err;
  EXPECT_TRUE(fs::exists(folder / "n-normalized.safetensors"));
}

TEST(CrfNormalize, ItsOwnTrainingDataAreOptimistic) {
  const Trained folder({"--objective", "penalty"});
  const Outcome outcome = folder.normalize({"--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("optimistic"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.json()["out"], "run/model-normalized.safetensors");
  EXPECT_NE(outcome.json()["report"]["notes"].dump().find("trained"), std::string::npos);
  EXPECT_NE(outcome.json()["report"]["notes"].dump().find("over-fitted"), std::string::npos);
  EXPECT_TRUE(fs::exists(folder / "run/model-normalized.report.json"));
}

TEST(CrfNormalize, SaysWhenHeldOutSentencesAreWorse) {
  const Trained folder({"--objective", "penalty", "--alpha", "10"});
  folder.write("few.conll", sentences_text(6, 3));
  int worse = 0;
  for (int seed = 0; seed < 12; ++seed) {
    const auto json = folder
                          .normalize({"--states", "few.conll", "--hold-out", "0.5", "-o", "few.safetensors",
                                      "--seed", std::to_string(seed), "--json"})
                          .json();
    const bool has_grown = json["log_z_lossless"]["rms"] > json["log_z_before"]["rms"];
    worse += has_grown ? 1 : 0;
    EXPECT_EQ(json["report"]["notes"].dump().find("held-out sentences grew from") != std::string::npos,
              has_grown);
  }
  EXPECT_GT(worse, 0);
  EXPECT_LT(worse, 12);
}

TEST(CrfNormalize, WritesAReportThatMakesAPage) {
  const Trained folder;
  const Outcome outcome = folder.normalize({"--states", "test.conll", "-o", "n.safetensors"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* words : {" left; R^2", "V* ", "least squares on the same sentences", "over-fitted",
                            "held-out R^2 is what counts", "rms a token", "NLL exact", "tokens",
                            "written      n.safetensors", "n.report.json"})
    EXPECT_NE(outcome.out.find(words), std::string::npos) << words << "\n" << outcome.out;
  const auto document = nlohmann::json::parse(content(folder / "n.report.json"));
  const auto figures = checked_figures(document);
  for (const char* id : {"log_z_histogram", "log_z_by_length", "log_z_by_length_states"})
    EXPECT_TRUE(figures.contains(id)) << id;
  const Outcome page = folder.run({"report", "n.report.json", "--out", "page.html"});
  EXPECT_EQ(page.code, 0) << page.err;
  EXPECT_TRUE(fs::exists(folder / "page.html"));
}

TEST(CrfNormalize, TheSameForAnyThreads) {
  const Trained folder;
  std::vector<std::string> models, documents;
  for (const char* threads : {"1", "3"}) {
    const Outcome outcome = folder.normalize({"--states", "test.conll", "-o", "n.safetensors", "--amortise",
                                              "linear", "--threads", threads, "--quiet"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    models.push_back(content(folder / "n.safetensors"));
    documents.push_back(content(folder / "n.report.json"));
  }
  EXPECT_EQ(models[0], models[1]);
  EXPECT_EQ(documents[0], documents[1]);
}

TEST(CrfNormalize, WithoutTransitionsTheConstantIsSubtracted) {
  const Folder folder;
  folder.write("t.txt", "U00:%x[0,0]\n");
  folder.write("data.conll", sentences_text(150));
  folder.write("test.conll", sentences_text(400, 2));
  ASSERT_EQ(folder.run(train_crf("data.conll", "run", {"--template", "t.txt", "--objective", "exact"})).code,
            0);
  const Outcome outcome =
      folder.run({"normalize", "run", "--states", "test.conll", "-o", "n.safetensors", "--json", "--quiet"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_LT(outcome.json()["log_z"]["rms"].get<double>(),
            0.1 * outcome.json()["log_z_before"]["rms"].get<double>());
  EXPECT_EQ(folder.run({"score", "n.safetensors", "test.conll", "--json", "--amortised"}).json()["kind"],
            "amortised");
}

TEST(CrfNormalize, RefusesWhatItCannotDo) {
  const Trained folder;
  folder.write("one.conll", "Ann B-PER\n");
  const auto names = folder.names();
  const auto refused = [&](const std::vector<std::string>& more, const std::string& words) {
    std::vector<std::string> all{"--states", "test.conll"};
    all.insert(all.end(), more.begin(), more.end());
    expect_user_error(folder.normalize(all), words);
  };
  refused({"--delta", "0.1"}, "train crf --objective constraint");
  refused({"--budget", "0.1"}, "--objective penalty");
  refused({"--targets", "labels"}, "is a CRF; it is for classifiers and language models");
  refused({"--amortise", "mlp"}, "expected --amortise linear");
  refused({"--hidden", "3"}, "--hidden: run is a CRF");
  refused({"--states-name", "h"}, "--states-name: run is a CRF");
  refused({"--weight-name", "W"}, "is a CRF");
  refused({"--hold-out", "0.9"}, "hold-out = 0.9 is out of range");
  refused({"-o", "test.conll"}, "would overwrite test.conll");
  refused({"-o", "run/model.safetensors"}, "would overwrite run/model.safetensors");
  refused({"-o", "n.npz"}, "ends in .safetensors");
  refused({"-o", "no/n.safetensors"}, "no/n.safetensors");
  expect_user_error(folder.normalize({"--states", "one.conll"}), "found 1 sentence");
  expect_user_error(folder.normalize({"--states", "none.conll"}), "none.conll");
  fs::copy(folder / "run/model.safetensors", folder / "alone.safetensors");
  expect_user_error(folder.run({"normalize", "alone.safetensors"}), "give --states FILE");
  fs::remove(folder / "alone.safetensors");
  EXPECT_EQ(folder.names(), names);
}

}  // namespace
}  // namespace selfnorm::cli
