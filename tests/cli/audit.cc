#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "cli/head.h"
#include "cli/program.h"

namespace selfnorm::cli {
namespace {

TEST(Audit, JsonHasThePromisedKeys) {
  const Folder folder;
  folder.generate("data.svm", 2000);
  ASSERT_EQ(
      folder.run({"train", "classifier", "--objective", "penalty", "data.svm", "--out", "run", "--quiet"})
          .code,
      0);
  const Outcome outcome = folder.run({"audit", "run", "data.svm", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = outcome.json();
  for (const char* key : {"log_z", "nll_raw", "nll_exact", "v_star", "certificate", "variance", "kl_uniform",
                          "ece", "histogram", "worst", "smallest_eps", "rho_bound", "kind"})
    EXPECT_TRUE(json.contains(key)) << key;
  for (const char* key : {"eps", "rho", "confidence", "n", "exceed", "certified"})
    EXPECT_TRUE(json["certificate"].contains(key)) << key;
  for (const char* key : {"mean", "std", "rms", "min", "max", "max_abs", "quantiles"})
    EXPECT_TRUE(json["log_z"].contains(key)) << key;
  EXPECT_EQ(json["kind"], "raw");
  EXPECT_EQ(json["certificate"]["n"], 2000);

  const auto evaluated = folder.run({"evaluate", "run", "data.svm", "--json"}).json();
  EXPECT_NEAR(json["nll_raw"].get<double>(), evaluated["nll_raw"].get<double>(), 1e-5);
  EXPECT_NEAR(json["nll_exact"].get<double>(), evaluated["nll_exact"].get<double>(), 1e-5);
  EXPECT_NEAR(json["log_z"]["rms"].get<double>(), evaluated["log_z"]["rms"].get<double>(), 1e-5);
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

nlohmann::json certificate_of(const nlohmann::json& json) {
  for (const auto& card : json["report"]["cards"])
    if (card["id"] == "certificate") return card;
  return nullptr;
}

// Training data, by whatever name, from wherever it is asked and in whatever form of MODEL.
TEST(Audit, NoCertificateFromTrainingData) {
  const Folder folder;
  folder.generate("data.svm", 2000);
  folder.write("copy.svm", content(folder / "data.svm"));
  std::string other = content(folder / "data.svm");
  other.back() = ' ';  // of the same size
  folder.write("other.svm", other);
  ASSERT_EQ(
      folder.run({"train", "classifier", "--objective", "penalty", "data.svm", "--out", "runs/a", "--quiet"})
          .code,
      0);
  const std::vector<std::string> models{"runs/a", "runs/a/model.safetensors", folder / "runs/a/"};
  for (const std::string& model : models)
    for (const std::string& data : {std::string("data.svm"), std::string("copy.svm"), folder / "data.svm"}) {
      const Outcome outcome = folder.run({"audit", model, data, "--json", "--no-report"});
      ASSERT_EQ(outcome.code, 0) << outcome.err;
      EXPECT_TRUE(outcome.json().value("trained", false)) << model << " " << data;
      EXPECT_EQ(certificate_of(outcome.json())["value"], "none: the model was trained on these inputs");
      EXPECT_FALSE(holds(outcome.out, "had no part"));
    }
  const Outcome text = folder.run({"audit", "runs/a", "data.svm"});
  EXPECT_TRUE(holds(text.out, "certificate  none: the model was trained on these inputs")) << text.out;
  for (const char* claim : {"CERTIFIED", "in words", "certified band"})
    EXPECT_FALSE(holds(text.out, claim)) << claim;
  std::filesystem::rename(folder / "data.svm", folder / "runs/data.svm");
  folder.write("data.svm", "1 1:1\n");
  EXPECT_TRUE(folder.run({"audit", "runs/a", "runs/data.svm", "--json", "--no-report"}).json()["trained"]);

  const Outcome free = folder.run({"audit", "runs/a", "other.svm", "--json", "--no-report"});
  ASSERT_EQ(free.code, 0) << free.err;
  EXPECT_FALSE(free.json().contains("trained"));
  EXPECT_TRUE(holds(certificate_of(free.json())["source"],
                    "exact log Z; holds if the inputs are independent and had no part in the model"));
}

TEST(Audit, ValidationDataChoseTheStep) {
  const Folder folder;
  folder.generate("data.svm", 2000);
  folder.generate("valid.svm", 1500);
  ASSERT_EQ(folder
                .run({"train", "classifier", "--objective", "penalty", "data.svm", "--valid", "valid.svm",
                      "--out", "run", "--quiet", "--no-report"})
                .code,
            0);
  const auto json = folder.run({"audit", "run", "valid.svm", "--json", "--no-report"}).json();
  EXPECT_TRUE(json["chose_step"]);
  EXPECT_TRUE(holds(json["report"]["notes"].dump(), "a little optimistic"));
  EXPECT_TRUE(
      holds(folder.run({"audit", "run", "valid.svm", "--no-report"}).out, "independent, but for their part"));
}

// The exit code goes by the numbers all the same.
TEST(Audit, ARequirementOfTrainingDataIsAWarning) {
  const Folder folder;
  folder.generate("data.svm", 2000);
  ASSERT_EQ(folder
                .run({"train", "classifier", "--objective", "penalty", "data.svm", "--out", "run", "--quiet",
                      "--no-report"})
                .code,
            0);
  const Outcome held = folder.run({"audit", "run", "data.svm", "--require", "eps=100", "--no-report"});
  EXPECT_EQ(held.code, 0) << held.err;
  EXPECT_TRUE(holds(held.err, "warning: --require: the model was trained on data.svm")) << held.err;
  EXPECT_EQ(folder.run({"audit", "run", "data.svm", "--require", "eps=1e-6", "--no-report"}).code, 3);
}

// Heads of other programs lie beside a config.json of theirs.
TEST(Audit, AConfigThatIsNoRecordTellsNothing) {
  const Folder folder;
  RandomHead().write(folder / "head.safetensors");
  write_states(folder / "h.safetensors", 500, false);
  for (const char* config : {"{\"model_type\": \"gpt2\"}", "not JSON", "{\"options\": {}}"}) {
    folder.write("config.json", config);
    const Outcome outcome = folder.run({"audit", "head.safetensors", "h.safetensors", "--json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_FALSE(outcome.json().contains("trained"));
  }
}

TEST(Audit, NothingRoundsToCertainty) {
  const Folder folder;
  folder.generate("data.svm", 2000);
  const std::string text = folder
                               .run({"audit", "data.svm.truth.safetensors", "data.svm", "--confidence",
                                     "0.9999999999", "--no-report"})
                               .out;
  EXPECT_TRUE(holds(text, "99.99999999%")) << text;
  EXPECT_FALSE(holds(text, " 100% confidence")) << text;
  EXPECT_FALSE(holds(text, "confidence 100%")) << text;
}

TEST(Audit, IsAGate) {
  const Folder folder;
  folder.generate("data.svm", 2000);
  const auto gate = [&](const std::string& require) {
    return folder.run({"audit", "data.svm.truth.safetensors", "data.svm", "--require", require});
  };
  EXPECT_EQ(gate("eps=100,rho=0.01,conf=0.99").code, 0);
  const Outcome refused = gate("eps=0.001,rho=0.01,conf=0.99");
  EXPECT_EQ(refused.code, 3);
  EXPECT_NE(refused.out.find("NOT CERTIFIED"), std::string::npos);
  EXPECT_EQ(gate("conf=0.999999,eps=100,rho=0.001").code, 3);  // 2,000 inputs are too few for that
  EXPECT_EQ(folder.run({"audit", "data.svm.truth.safetensors", "data.svm", "--eps", "0.001"}).code, 0);
}

// The printed bound is rounded so that it holds.
TEST(Audit, ThePrintedBoundCertifies) {
  const Folder folder;
  folder.generate("data.svm", 3000);
  const std::string text = folder.run({"audit", "data.svm.truth.safetensors", "data.svm"}).out;
  const std::string mark = "can be certified at 1%: ";
  const size_t begin = text.find(mark);
  ASSERT_NE(begin, std::string::npos) << text;
  const std::string eps = text.substr(begin + mark.size(), text.find('\n', begin) - begin - mark.size());
  EXPECT_EQ(folder.run({"audit", "data.svm.truth.safetensors", "data.svm", "--require", "eps=" + eps}).code,
            0)
      << eps;
}

TEST(Audit, RefusesARequirementItCannotRead) {
  const Folder folder;
  folder.generate();
  const auto gate = [&](const std::string& require) {
    return folder.run({"audit", "data.svm.truth.safetensors", "data.svm", "--require", require});
  };
  expect_user_error(gate("eps=much"), "found 'much', expected a number");
  expect_user_error(gate("delta=1"), "found 'delta=1', expected eps=, rho= or conf=");
  expect_user_error(gate("eps"), "found 'eps'");
  expect_user_error(gate("eps=1,eps=2"), "found eps twice");
  EXPECT_EQ(gate("eps=100, rho=0.5, conf=0.9").code, 0);
  expect_user_error(gate("eps=0"), "eps = 0 is out of range; expected > 0");
  expect_user_error(gate("rho=1"), "rho = 1 is out of range");
  expect_user_error(gate("conf=nan"), "confidence = nan is out of range");
}

TEST(Audit, OfSomebodyElsesHead) {
  const Folder folder;
  RandomHead().write(folder / "head.safetensors");
  write_states(folder / "h.safetensors", 500, false);
  const Outcome outcome = folder.run({"audit", "head.safetensors", "h.safetensors", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = outcome.json();
  EXPECT_EQ(json["n"], 500);
  EXPECT_EQ(json["classes"], 40);
  EXPECT_TRUE(json["nll_raw"].is_null());
  EXPECT_GT(json["log_z"]["mean"].get<double>(), 3);
  EXPECT_LT(json["v_star"].get<double>(), json["variance"].get<double>());
  const Outcome text = folder.run({"audit", "head.safetensors", "h.safetensors"});
  EXPECT_NE(text.out.find("the inputs have no labels"), std::string::npos);
  EXPECT_NE(text.out.find("worst inputs"), std::string::npos);

  write_states(folder / "labelled.safetensors", 500, true);
  const auto labelled = folder.run({"audit", "head.safetensors", "labelled.safetensors", "--json"}).json();
  EXPECT_NEAR(labelled["nll_exact"].get<double>() - labelled["nll_raw"].get<double>(),
              labelled["log_z"]["mean"].get<double>(), 1e-6);
}

// What a terminal shows in a locale.
std::string text_in(const char* locale, const Folder& folder, const std::vector<std::string>& words) {
  const char* set = std::getenv("LC_ALL");
  const std::string before = set == nullptr ? "" : set;
  setenv("LC_ALL", locale, 1);
  const Outcome outcome = folder.run(words);
  set == nullptr ? unsetenv("LC_ALL") : setenv("LC_ALL", before.c_str(), 1);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return outcome.out;
}

TEST(Audit, TextIsASummaryWithAHistogramInALine) {
  const Folder folder;
  folder.generate("data.svm", 2000);
  const std::vector<std::string> words = {"audit", "data.svm.truth.safetensors", "data.svm"};
  const std::string text = text_in("C.UTF-8", folder, words);
  for (const char* part :
       {"█", "certified band", "NLL raw", ", exact ", "ECE of raw", "KL from uniform", "variance",
        "CERTIFIED", "in words     with 99% confidence, 99% of inputs have raw log-probabilities within "})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  const std::string plain = text_in("C", folder, words);
  EXPECT_TRUE(std::ranges::all_of(plain, [](char c) { return static_cast<unsigned char>(c) < 0x80; }))
      << plain;
  EXPECT_NE(plain.find("##"), std::string::npos) << plain;
}

// The worst inputs with the labels they have, which cannot command the terminal.
TEST(Audit, TextNamesTheLabelsOfTheWorst) {
  const Folder folder;
  std::string table = "x,y\n";
  for (int i = 0; i < 40; ++i) table += std::to_string(i) + (i % 2 == 0 ? ",\x1b[31mred\n" : ",blue\n");
  folder.write("data.csv", table);
  ASSERT_EQ(folder
                .run({"train", "classifier", "--objective", "penalty", "data.csv", "--target", "y", "--out",
                      "run", "--quiet"})
                .code,
            0);
  const std::string text = folder.run({"audit", "run", "data.csv"}).out;
  const size_t worst = text.find("worst inputs");
  ASSERT_NE(worst, std::string::npos) << text;
  EXPECT_NE(text.find(": blue (", worst), std::string::npos) << text;
  EXPECT_NE(text.find(": ?[31mred (", worst), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

// Bytes of Latin-1, among them the control CSI, and a label that would fill the screen.
TEST(Audit, LabelsAreCutAndHoldNoControls) {
  const Folder folder;
  std::string table = "x,y\n";
  for (int i = 0; i < 40; ++i)
    table += std::to_string(i) + (i % 2 == 0 ? ",a\x9b"
                                               "31m\xc2\x9b\n"
                                             : "," + std::string(5000, 'b') + "\n");
  folder.write("data.csv", table);
  ASSERT_EQ(folder
                .run({"train", "classifier", "--objective", "penalty", "data.csv", "--target", "y", "--out",
                      "run", "--quiet"})
                .code,
            0);
  const std::string text = text_in("C.UTF-8", folder, {"audit", "run", "data.csv", "--no-report"});
  EXPECT_TRUE(holds(text, ": a\ufffd31m? (")) << text;
  EXPECT_TRUE(holds(text, ": " + std::string(79, 'b') + "\u2026 (")) << text;
  EXPECT_TRUE(holds(text_in("C", folder, {"audit", "run", "data.csv", "--no-report"}),
                    ": " + std::string(79, 'b') + "... ("));
}

// log Z = log(40 exp(-log 40 - 1e-6)) of all inputs.
TEST(Audit, ZeroHasNoSign) {
  const Folder folder;
  RandomHead head;
  std::ranges::fill(head.weight, 0.0f);
  std::ranges::fill(head.bias, static_cast<float>(-std::log(40.0) - 1e-6));
  head.write(folder / "head.safetensors");
  write_states(folder / "h.safetensors", 500, true);
  const Outcome outcome = folder.run({"audit", "head.safetensors", "h.safetensors"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("mean 0.0000"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("-0.0000"), std::string::npos) << outcome.out;
}

TEST(Audit, InputsThatDoNotFit) {
  const Folder folder;
  RandomHead().write(folder / "head.safetensors");
  folder.generate("data.svm");
  write_states(folder / "h.safetensors", 10, false);
  expect_user_error(folder.run({"audit", "data.svm.truth.safetensors", "h.safetensors"}), "columns");
  expect_user_error(folder.run({"audit", "head.safetensors", "missing.npy"}), "missing.npy");
  expect_user_error(folder.run({"audit", "missing", "data.svm"}), "missing");
}

TEST(Audit, TheSameForAnyNumberOfThreads) {
  const Folder folder;
  RandomHead().write(folder / "head.safetensors");
  write_states(folder / "h.safetensors", 3000, true);
  const std::vector<std::string> command = {"audit", "head.safetensors", "h.safetensors", "--json",
                                            "--threads"};
  auto one = command, two = command;
  one.push_back("1");
  two.push_back("2");
  EXPECT_EQ(folder.run(one).out, folder.run(two).out);
}

}  // namespace
}  // namespace selfnorm::cli
