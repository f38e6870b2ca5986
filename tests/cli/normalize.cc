#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cli/head.h"
#include "cli/program.h"
#include "model/model_file.h"

namespace selfnorm::cli {
namespace {

TEST(Normalize, AHeadWithoutLossInEveryDtype) {
  for (const auto dtype : {runtime::Dtype::F32, runtime::Dtype::F16, runtime::Dtype::BF16}) {
    const Folder folder;
    RandomHead().write(folder / "head.safetensors", dtype);
    write_states(folder / "h.safetensors", 4000, true);
    const Outcome outcome = folder.run(
        {"normalize", "head.safetensors", "--states", "h.safetensors", "-o", "out.safetensors", "--json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto json = outcome.json();
    EXPECT_LT(json["v_star"].get<double>(), json["variance_before"].get<double>());
    EXPECT_NEAR(json["log_z"]["mean"].get<double>(), 0, 0.1);
    EXPECT_NEAR(std::pow(json["log_z"]["std"].get<double>(), 2), json["v_star"].get<double>(),
                0.2 * json["v_star"].get<double>());
    const double coarse = dtype == runtime::Dtype::F32 ? 1e-5 : dtype == runtime::Dtype::F16 ? 5e-3 : 4e-2;
    EXPECT_LT(json["max_probability_difference"].get<double>(), coarse);
    const auto before = folder.run({"audit", "head.safetensors", "h.safetensors", "--json"}).json();
    const auto after = folder.run({"audit", "out.safetensors", "h.safetensors", "--json"}).json();
    EXPECT_NEAR(after["nll_exact"].get<double>(), before["nll_exact"].get<double>(), coarse);
    EXPECT_NEAR(after["nll_raw"].get<double>(), after["nll_exact"].get<double>(), 0.05);
    EXPECT_NEAR(after["v_star"].get<double>(), before["v_star"].get<double>(), 0.01);
    // Format, dtype and everything else in the file stay.
    const std::string written = content(folder / "out.safetensors");
    EXPECT_NE(written.find("somebody else"), std::string::npos);
    EXPECT_NE(written.find("final_norm"), std::string::npos);
    EXPECT_EQ(written.size(), content(folder / "head.safetensors").size());
  }
}

TEST(Normalize, AHeadWithoutABiasGetsOne) {
  const Folder folder;
  RandomHead().write(folder / "head.safetensors", runtime::Dtype::F32, false);
  write_states(folder / "h.safetensors", 1000, false);
  ASSERT_EQ(
      folder
          .run({"normalize", "head.safetensors", "--states", "h.safetensors", "--bias-name", "lm_head.bias"})
          .code,
      0);
  const auto json = folder.run({"audit", "head-normalized.safetensors", "h.safetensors", "--json"}).json();
  EXPECT_NEAR(json["log_z"]["mean"].get<double>(), 0, 0.1);
}

TEST(Normalize, OurOwnModelKeepsItsEvaluation) {
  const Folder folder;
  folder.generate("data.svm", 3000);
  ASSERT_EQ(folder
                .run({"train", "classifier", "--objective", "penalty", "data.svm", "--objective", "exact",
                      "--out", "run", "--quiet"})
                .code,
            0);
  const Outcome outcome =
      folder.run({"normalize", "run", "-o", "n.safetensors"});  // states: the run's own data
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("R^2"), std::string::npos);
  const auto before = folder.run({"evaluate", "run", "data.svm", "--json"}).json();
  const auto after = folder.run({"evaluate", "n.safetensors", "data.svm", "--json"}).json();
  EXPECT_NEAR(after["nll_exact"].get<double>(), before["nll_exact"].get<double>(), 1e-5);
  EXPECT_EQ(after["accuracy"], before["accuracy"]);
  EXPECT_LT(after["log_z"]["rms"].get<double>(), 0.5 * before["log_z"]["rms"].get<double>());
  // It is a maximum-likelihood model no more: no warning about raw scores.
  const Outcome raw = folder.run({"score", "n.safetensors", "data.svm", "--top", "1", "--raw"});
  EXPECT_EQ(raw.err.find("leaves log Z free"), std::string::npos) << raw.err;
}

// Few sparse states: neither b is better than the constant on states held out, and it says so.
TEST(Normalize, NoAmortisedNormalizerThatIsWorseThanTheConstant) {
  const Folder folder;
  RandomStream random(3);
  std::string text;
  for (int i = 0; i < 120; ++i) {
    text += std::to_string(i % 3);
    for (int j = 0; j < 60; ++j)
      if (random.uniform() < 0.1) text += " " + std::to_string(j + 1) + ":1";
    text += "\n";
  }
  folder.write("data.svm", text);
  ASSERT_EQ(folder
                .run({"train", "classifier", "--objective", "penalty", "data.svm", "--hold-out", "0", "--out",
                      "run", "--quiet"})
                .code,
            0);
  for (const char* kind : {"linear", "mlp"}) {
    const Outcome outcome =
        folder.run({"normalize", "run", "-o", "n.safetensors", "--amortise", kind, "--json", "--quiet"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto json = outcome.json();
    const bool is_kept = json["amortisation"]["kept"];
    const auto model = load_model(folder / "n.safetensors");
    EXPECT_EQ(model.normalizer.exists(), is_kept);
    const bool is_linear = is_kept && std::string(kind) == "mlp" && model.normalizer.hidden() == 0;
    EXPECT_EQ(outcome.err.find("b(h) is left out") != std::string::npos, !is_kept) << outcome.err;
    EXPECT_EQ(outcome.err.find("b(h) is linear") != std::string::npos, is_linear) << outcome.err;
    EXPECT_EQ(is_kept, json["amortisation"]["rms_held_out"] < json["amortisation"]["rms_constant"]);
  }
}

TEST(Normalize, AGroupModel) {
  const Folder folder;
  std::string text;
  RandomStream random(3);
  for (int g = 0; g < 300; ++g) {
    const double shared = random.normal();
    const int chosen = static_cast<int>(random.below(3));
    for (int a = 0; a < 3; ++a)
      text += (a == chosen ? "1 qid:" : "0 qid:") + std::to_string(g + 1) + " 1:" + std::to_string(shared) +
              " 2:" + std::to_string(random.normal()) + "\n";
  }
  folder.write("groups.svm", text);
  ASSERT_EQ(
      folder.run({"train", "classifier", "groups.svm", "--objective", "exact", "--out", "run", "--quiet"})
          .code,
      0);
  const Outcome outcome = folder.run({"normalize", "run", "-o", "n.safetensors", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_LT(outcome.json()["max_probability_difference"].get<double>(), 1e-5);
  expect_user_error(folder.run({"normalize", "run", "--delta", "0.1"}), "without loss only");
}

TEST(Normalize, RetrainsToADeltaAndAmortisesTheRest) {
  const Folder folder;
  RandomHead().write(folder / "head.safetensors");
  write_states(folder / "h.safetensors", 3000, false);
  const Outcome outcome =
      folder.run({"normalize", "head.safetensors", "--states", "h.safetensors", "-o", "out.safetensors",
                  "--delta", "0.2", "--amortise", "mlp", "--hidden", "16", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = outcome.json();
  EXPECT_EQ(json["retraining"]["targets"], "teacher");
  EXPECT_TRUE(json["retraining"]["reached"].get<bool>());
  EXPECT_LE(json["retraining"]["chosen"]["rms"].get<double>(), 0.2);
  EXPECT_NEAR(json["log_z_retrained"]["rms"].get<double>(), 0.2, 0.04);  // on states that chose nothing
  EXPECT_GT(json["retraining"]["chosen"]["loss"].get<double>(), 0);
  EXPECT_NEAR(json["retraining"]["kl_held_out"].get<double>(),
              json["retraining"]["chosen"]["loss"].get<double>(),
              0.3 * json["retraining"]["chosen"]["loss"].get<double>());
  EXPECT_LT(json["log_z_amortised"]["rms"].get<double>(), json["log_z_retrained"]["rms"].get<double>());
  const auto amortised = folder.run({"audit", "out.safetensors", "h.safetensors", "--json"}).json();
  EXPECT_EQ(amortised["kind"], "amortised");
  EXPECT_LT(amortised["log_z"]["rms"].get<double>(), 0.2);
  const auto scored =
      folder
          .run({"score", "out.safetensors", "h.safetensors", "--candidates", "3,7", "--json", "--amortised"})
          .json();
  EXPECT_EQ(scored["kind"], "amortised");
  EXPECT_EQ(folder.run({"audit", "out.safetensors", "h.safetensors", "--raw", "--json"}).json()["kind"],
            "raw");
}

// A head follows the states it was fitted to. Above delta by three standard errors of the rms of 60 states is
// a warning, less is chance.
TEST(Normalize, ADeltaThatHeldOutStatesDoNotKeepIsAWarning) {
  const Folder folder;
  RandomHead().write(folder / "head.safetensors");
  int warned = 0;
  for (uint64_t seed = 2; seed < 12; ++seed) {
    write_states(folder / "h.safetensors", 120, false, seed);
    const Outcome outcome = folder.run({"normalize", "head.safetensors", "--states", "h.safetensors", "-o",
                                        "out.safetensors", "--hold-out", "0.5", "--delta", "0.5", "--json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto json = outcome.json();
    const bool is_beyond = json["log_z_retrained"]["rms"].get<double>() > 0.5 * (1 + 3 / std::sqrt(120.0));
    const std::string doubt = json["retraining"].value("doubt", "");
    EXPECT_EQ(doubt.find("above the delta of 0.5") != std::string::npos, is_beyond) << doubt;
    EXPECT_EQ(outcome.err.find("warning: rms log Z of the 60 held-out states is ") != std::string::npos,
              is_beyond)
        << outcome.err;
    warned += is_beyond ? 1 : 0;
  }
  EXPECT_GT(warned, 0);
  EXPECT_LT(warned, 10);
}

TEST(Normalize, ADeltaOutOfReachLeavesTheLosslessHeadAndSaysSo) {
  const Folder folder;
  RandomHead().write(folder / "head.safetensors");
  write_states(folder / "h.safetensors", 500, true);
  const Outcome outcome = folder.run({"normalize", "head.safetensors", "--states", "h.safetensors", "-o",
                                      "out.safetensors", "--delta", "1e-7", "--json"});
  EXPECT_EQ(outcome.code, 3);
  const auto json = outcome.json();
  EXPECT_FALSE(json["retraining"]["reached"].get<bool>());
  EXPECT_EQ(json["retraining"]["targets"], "labels");
  EXPECT_LT(json["retraining"]["kl_held_out"].get<double>(), 1e-6);
  const Outcome teacher =
      folder.run({"normalize", "head.safetensors", "--states", "h.safetensors", "-o", "out.safetensors",
                  "--budget", "0.01", "--targets", "teacher", "--json"});
  EXPECT_EQ(teacher.code, 0) << teacher.err;
  EXPECT_EQ(teacher.json()["retraining"]["targets"], "teacher");
}

nlohmann::json figure_of(const nlohmann::json& document, const std::string& id) {
  for (const auto& section : document["sections"])
    for (const auto& figure : section["figures"])
      if (figure["id"] == id) return figure;
  return {};
}

nlohmann::json card_of(const nlohmann::json& document, const std::string& id) {
  for (const auto& card : document["cards"])
    if (card["id"] == id) return card;
  return {};
}

std::vector<std::string> series_names(const nlohmann::json& figure) {
  std::vector<std::string> out;
  for (const auto& series : figure["panels"][0]["series"]) out.push_back(series.value("name", ""));
  return out;
}

TEST(Normalize, LeavesWhatItHasToShowBesideTheHead) {
  const Folder folder;
  RandomHead().write(folder / "head.safetensors");
  write_states(folder / "h.safetensors", 6000, false);
  const Outcome outcome =
      folder.run({"normalize", "head.safetensors", "--states", "h.safetensors", "-o", "out.safetensors",
                  "--delta", "0.3", "--amortise", "mlp", "--seed", "1", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = outcome.json(), document = json["report"];
  EXPECT_EQ(nlohmann::json::parse(content(folder / "out.report.json")), document);
  EXPECT_EQ(document["command"], "normalize");
  EXPECT_EQ(card_of(document, "model")["source"], "head.safetensors");
  EXPECT_EQ(card_of(document, "variance_before")["number"], json["variance_before"]);
  EXPECT_EQ(card_of(document, "v_star")["number"], json["v_star"]);
  EXPECT_EQ(card_of(document, "r_squared")["number"], json["r_squared_held_out"]);
  EXPECT_EQ(card_of(document, "probability_difference")["number"], json["max_probability_difference"]);
  EXPECT_EQ(card_of(document, "rms_log_z_before")["number"], json["log_z_before"]["rms"]);
  EXPECT_EQ(card_of(document, "rms_log_z")["number"], json["log_z"]["rms"]);
  const std::string words = card_of(document, "certificate")["value"];
  EXPECT_NE(words.find("99% of inputs have amortised log-probabilities within"), std::string::npos) << words;
  const auto names = series_names(figure_of(document, "log_z_histogram"));
  for (const char* name : {"before", "lossless", "retrained", "less b(h)"})
    EXPECT_EQ(std::ranges::count(names, name), 1) << name;
  const auto trade = figure_of(document, "trade_off")["panels"][0]["series"][0];
  EXPECT_EQ(trade["x"].size(), json["retraining"]["trade"].size() + 1);
  EXPECT_EQ(trade["x"].size(), trade["y"].size());
  const Outcome again = folder.run({"normalize", "head.safetensors", "--states", "h.safetensors", "-o",
                                    "out.safetensors", "--threads", "1"});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_NE(again.out.find("out.report.json"), std::string::npos);
  const auto shown = nlohmann::json::parse(content(folder / "out.report.json"));
  EXPECT_TRUE(figure_of(shown, "trade_off").is_null());
  EXPECT_EQ(series_names(figure_of(shown, "log_z_histogram")).size(), names.size() - 2);
}

// One state far from the others, held out or not: where it is held out it is the worst, by its place in the
// file.
TEST(Normalize, WorstInputsAreNumberedAsInTheFile) {
  const Folder folder;
  RandomHead().write(folder / "head.safetensors");
  RandomStream random(5);
  std::vector<float> h(400 * 6);
  for (float& v : h) v = static_cast<float>(random.normal());
  const uint64_t far = 311;
  for (uint64_t j = 0; j < 6; ++j) h[far * 6 + j] *= 30;
  write_safetensors(folder / "h.safetensors",
                    {make_tensor("hidden_states", runtime::Dtype::F32, {400, 6}, std::span<const float>(h))},
                    {});
  bool is_held_out = false;
  for (int seed = 0; seed < 8 && !is_held_out; ++seed) {
    const Outcome outcome =
        folder.run({"normalize", "head.safetensors", "--states", "h.safetensors", "-o", "o.safetensors",
                    "--hold-out", "0.5", "--seed", std::to_string(seed), "--json", "--quiet"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto json = outcome.json();
    for (const auto& section : json["report"]["sections"])
      for (const auto& table : section.value("tables", nlohmann::json::array()))
        is_held_out = is_held_out || (table["id"] == "worst" && table["rows"][0][0] == far);
  }
  EXPECT_TRUE(is_held_out);
}

// States that trained the model certify nothing.
TEST(Normalize, NoCertificateFromTrainingData) {
  const Folder folder;
  folder.generate("data.svm", 9000);
  ASSERT_EQ(
      folder.run({"train", "classifier", "--objective", "penalty", "data.svm", "--out", "run", "--quiet"})
          .code,
      0);
  const auto own =
      folder.run({"normalize", "run", "-o", "a.safetensors", "--json", "--quiet"}).json()["report"];
  EXPECT_EQ(card_of(own, "certificate")["value"], "none: the model was trained on these inputs");
  EXPECT_FALSE(card_of(own, "certificate").contains("number"));
  EXPECT_NE(own["notes"].dump().find("nothing is certified"), std::string::npos);
  EXPECT_FALSE(card_of(own, "nll_exact").is_null());
  const Outcome named =
      folder.run({"normalize", "run", "--states", "./data.svm", "-o", "c.safetensors", "--json"});
  EXPECT_NE(named.err.find("the model was trained on these states"), std::string::npos) << named.err;
  EXPECT_FALSE(card_of(named.json()["report"], "certificate").contains("number"));
  folder.generate("other.svm", 8900);
  const auto other =
      folder.run({"normalize", "run", "--states", "other.svm", "-o", "b.safetensors", "--json"});
  ASSERT_EQ(other.code, 0) << other.err;
  EXPECT_TRUE(card_of(other.json()["report"], "certificate")["number"].is_number());
}

// Somebody's file is not written over for a report, and the head is there all the same.
TEST(Normalize, AReportThatCannotBeWrittenIsAWarning) {
  const Folder folder;
  RandomHead().write(folder / "head.safetensors");
  write_states(folder / "h.safetensors", 500, false);
  folder.write("out.report.json", "{\"mine\": 1}\n");
  const Outcome outcome = folder.run(
      {"normalize", "head.safetensors", "--states", "h.safetensors", "-o", "out.safetensors", "--quiet"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.err.find("no report: "), std::string::npos) << outcome.err;
  EXPECT_EQ(content(folder / "out.report.json"), "{\"mine\": 1}\n");
  EXPECT_TRUE(std::filesystem::exists(folder / "out.safetensors"));
}

TEST(Normalize, StatesInTheHeadsOwnFileByNameOnly) {
  const Folder folder;
  RandomHead().write(folder / "head.safetensors");
  expect_user_error(folder.run({"normalize", "head.safetensors"}), "give --states FILE");
}

TEST(Normalize, ErrorsLeaveNothingBehind) {
  const Folder folder;
  RandomHead().write(folder / "head.safetensors");
  write_states(folder / "h.safetensors", 20, false);
  folder.generate("data.svm");
  const auto names = folder.names();
  expect_user_error(folder.run({"normalize", "data.svm.truth.safetensors"}), "give --states FILE");
  expect_user_error(folder.run({"normalize", "head.safetensors", "--states", "data.svm"}), "data.svm");
  expect_user_error(
      folder.run({"normalize", "head.safetensors", "--states", "h.safetensors", "--delta", "-1"}),
      "delta = -1 is out of range");
  expect_user_error(
      folder.run({"normalize", "head.safetensors", "--states", "h.safetensors", "--hold-out", "0.9"}),
      "hold-out = 0.9 is out of range");
  expect_user_error(
      folder.run({"normalize", "head.safetensors", "--states", "h.safetensors", "--weight-name", "W"}), "W");
  expect_user_error(folder.run({"normalize", "head.safetensors", "--states", "h.safetensors", "-o",
                                "no/where.safetensors"}),
                    "no/where.safetensors");
  expect_user_error(folder.run({"normalize", "head.safetensors", "--states", "h.safetensors", "-o", "x.npz"}),
                    "ends in .safetensors");
  expect_user_error(
      folder.run({"normalize", "head.safetensors", "--states", "h.safetensors", "-o", "h.safetensors"}),
      "would overwrite h.safetensors");
  expect_user_error(folder.run({"normalize", "head.safetensors", "--states", "h.safetensors", "--delta", "1",
                                "--targets", "labels"}),
                    "the states have no labels");
  EXPECT_EQ(folder.names(), names);
}

}  // namespace
}  // namespace selfnorm::cli
