// Training, evaluation and description of CRFs.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "cli/report_data.h"
#include "cli/sentence_data.h"

namespace selfnorm::cli {
namespace {

namespace fs = std::filesystem;

TEST(TrainCrf, DataAloneGivesAnEvaluatedRun) {
  const Folder folder;
  folder.write("data.conll", sentences_text(200));
  const Outcome trained = folder.run({"train", "crf", "data.conll"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.err.find("read data.conll: columns, 200 sentences"), std::string::npos) << trained.err;
  EXPECT_NE(trained.err.find("4 labels"), std::string::npos) << trained.err;
  EXPECT_NE(trained.err.find("held out: 20 sentences"), std::string::npos) << trained.err;
  EXPECT_NE(trained.out.find("on the validation data"), std::string::npos) << trained.out;
  EXPECT_NE(trained.out.find("span F1"), std::string::npos) << trained.out;
  const std::string run = folder / "out/data-penalty";
  EXPECT_EQ(files_of(run), (std::vector<std::string>{"config.json", "metrics.jsonl", "model.safetensors",
                                                     "report.html", "report.json"}));
  const auto config = nlohmann::json::parse(content(run + "/config.json"));
  EXPECT_EQ(config["command"], "train crf");
  EXPECT_EQ(config["data"]["sentences"], 200);
  EXPECT_EQ(config["data"]["labels"], 4);
  const auto info = folder.run({"info", "out/data-penalty", "--json"}).json();
  EXPECT_EQ(info["family"], "chain");
  EXPECT_EQ(info["classes"], 4);
  EXPECT_EQ(info["target"], 1);
  EXPECT_EQ(info["transitions"], true);
  EXPECT_FALSE(info["templates"].empty());
  EXPECT_EQ(info["objective"]["name"], "penalty");
  EXPECT_EQ(info["audit"]["data"], "validation");
  EXPECT_EQ(info["audit"]["sentences"], 20);
  EXPECT_GT(info["audit"]["accuracy"].get<double>(), 0.95);
  EXPECT_EQ(folder.run({"info", "out/data-penalty"}).code, 0);
}

TEST(TrainCrf, TheReportShowsLogZByLengthAndSpans) {
  const Folder folder;
  folder.write("data.conll", sentences_text(100));
  ASSERT_EQ(folder.run(train_crf("data.conll", "run", {"--steps", "20"})).code, 0);
  const auto report = report_of(folder / "run");
  const auto figures = checked_figures(report), cards = card_ids(report);
  EXPECT_TRUE(figures.contains("log_z_by_length"));
  for (const char* id : {"nll_exact", "nll_raw", "accuracy", "span_f1", "rms_log_z_per_token"})
    EXPECT_TRUE(cards.contains(id)) << id;
  ASSERT_EQ(folder.run({"report", "run", "-o", "page.html", "--quiet"}).code, 0);
  ASSERT_EQ(folder.run(train_crf("data.conll", "bare", {"--steps", "2", "--no-report", "--json"})).code, 0);
  EXPECT_FALSE(fs::exists(folder / "bare/report.html"));
}

TEST(TrainCrf, SameBytesForAnyThreadsAndCompression) {
  const Folder folder;
  folder.write("data.conll", sentences_text(100));
  expect_same_bytes_for_any_threads(folder, "data.conll", train_crf);
}

TEST(TrainCrf, EveryObjectiveAndOptimiser) {
  const Folder folder;
  folder.write("data.conll", sentences_text(150));
  folder.write("valid.conll", sentences_text(40, 2));
  const std::vector<std::vector<std::string>> plans{{"exact"},
                                                    {"penalty", "--alpha", "1", "--no-calibrate"},
                                                    {"penalty", "--optimiser", "adagrad", "--epochs", "5"},
                                                    {"penalty", "--l1", "0.001"},
                                                    {"constraint", "--delta", "0.2"},
                                                    {"sampled", "--gamma", "0.5", "--epochs", "5"}};
  for (const auto& plan : plans) {
    std::vector<std::string> words =
        train_crf("data.conll", "run", {"--overwrite", "--json", "--valid", "valid.conll", "--objective"});
    words.insert(words.end(), plan.begin(), plan.end());
    const Outcome trained = folder.run(words);
    ASSERT_EQ(trained.code, 0) << plan[0] << trained.err;
    const auto result = trained.json();
    EXPECT_EQ(result["objective"], plan[0]);
    EXPECT_EQ(result["audit"]["sentences"], 40) << plan[0];
    EXPECT_GT(result["audit"]["accuracy"].get<double>(), 0.9) << plan[0];
    EXPECT_TRUE(plan[0] == "exact" || result["audit"]["log_z"]["rms"].get<double>() < 1) << plan[0];
  }
}

TEST(TrainCrf, ResumedAfterASignalToTheSameBytes) {
  const Folder folder;
  folder.write("data.conll", sentences_text(300));
  folder.write("other.conll", sentences_text(50, 3));
  const auto words = [](const std::string& out) {
    return train_crf(
        "data.conll", out,
        {"--checkpoint-seconds", "0", "--optimiser", "adagrad", "--epochs", "3", "--batch", "8"});
  };
  ASSERT_EQ(folder.run(words("whole")).code, 0);
  for (const int signal : {SIGKILL, SIGINT}) {
    const std::string cut = signal == SIGKILL ? "killed" : "stopped";
    const Outcome outcome = folder.run(words(cut), [&](pid_t child) {
      for (int i = 0; i < 5000 && !fs::exists(folder / (cut + "/checkpoint.safetensors")); ++i) usleep(1000);
      kill(child, signal);
    });
    ASSERT_EQ(outcome.code, signal == SIGKILL ? 128 + SIGKILL : 130) << "the run ended before the signal";
    expect_user_error(folder.run({"train", "crf", "--resume", "--quiet", "--out", cut, "--batch", "7"}),
                      "--batch is 7");
    expect_user_error(folder.run({"train", "crf", "other.conll", "--resume", "--quiet", "--out", cut}),
                      "other.conll is not the data");
    expect_user_error(folder.run({"tag", cut, "data.conll"}), "the run is not finished");
    const Outcome resumed = folder.run({"train", "crf", "--resume", "--out", cut, "--threads", "1"});
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_TRUE(content(folder / "whole/model.safetensors") ==
                content(folder / (cut + "/model.safetensors")));
    EXPECT_TRUE(shown_of(folder / "whole") == shown_of(folder / cut));
  }
}

TEST(TrainCrf, TemplatesTargetAndCutOff) {
  const Folder folder;
  std::string swapped;  // the label first, then a column that tells nothing
  std::istringstream lines(sentences_text(60));
  for (std::string word, label, line; std::getline(lines, line);) {
    std::istringstream fields(line);
    swapped += fields >> word >> label ? label + "\tx\t" + word + "\n" : "\n";
  }
  folder.write("data.conll", swapped);
  folder.write("words.tpl", "# the word and the one before\nU0:%x[0,2]\nU1:%x[-1,2]\nB\n");
  const Outcome trained = folder.run(
      train_crf("data.conll", "run", {"--target", "0", "--template", "words.tpl", "--min-count", "2"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  const auto info = folder.run({"info", "run", "--json"}).json();
  EXPECT_EQ(info["target"], 0);
  EXPECT_EQ(info["templates"], (nlohmann::json{"U0:%x[0,2]", "U1:%x[-1,2]", "B"}));
  EXPECT_GT(info["audit"]["accuracy"].get<double>(), 0.9);
}

TEST(EvaluateCrf, ModelsInOneTable) {
  const Folder folder;
  folder.write("data.conll", sentences_text(100));
  folder.write("test.conll", sentences_text(50, 9));
  ASSERT_EQ(folder.run(train_crf("data.conll", "exact", {"--objective", "exact"})).code, 0);
  ASSERT_EQ(folder.run(train_crf("data.conll", "penalty")).code, 0);
  const auto both = folder.run({"evaluate", "exact", "penalty", "test.conll", "--json"}).json()["models"];
  ASSERT_EQ(both.size(), 2u);
  for (const auto& model : both) {
    EXPECT_EQ(model["sentences"], 50);
    EXPECT_NEAR(model["nll_exact"].get<double>() * 50,
                model["nll_exact_per_token"].get<double>() * model["tokens"].get<double>(), 1e-6);
    // b = 0, so that raw and exact likelihoods differ by the mean of log Z.
    EXPECT_NEAR(model["nll_exact"].get<double>() - model["nll_raw"].get<double>(),
                model["log_z"]["mean"].get<double>(), 1e-6);
    EXPECT_TRUE(model["spans"]["types"].contains("PER"));
    uint64_t sentences = 0;
    for (const auto& level : model["by_length"]) sentences += level["sentences"].get<uint64_t>();
    EXPECT_EQ(sentences, 50u);
  }
  EXPECT_LT(both[1]["log_z"]["rms"].get<double>(), both[0]["log_z"]["rms"].get<double>());
  const Outcome text = folder.run({"evaluate", "penalty", "test.conll"});
  EXPECT_NE(text.out.find("rms log Z a token"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("PER"), std::string::npos) << text.out;
}

TEST(AuditCrf, ErrorsOfSentencesWithAndWithoutLabels) {
  const Folder folder;
  folder.write("data.conll", sentences_text(100));
  folder.write("test.conll", sentences_text(600, 9));
  folder.write("words.conll", sentences_text(600, 9, false));
  ASSERT_EQ(folder.run(train_crf("data.conll", "run")).code, 0);
  const auto evaluation = folder.run({"evaluate", "run", "test.conll", "--json"}).json();
  const Outcome audited = folder.run({"audit", "run", "test.conll", "--json"});
  ASSERT_EQ(audited.code, 0) << audited.err;
  const auto audit = audited.json();
  EXPECT_EQ(audit["n"], 600);
  EXPECT_NEAR(audit["log_z"]["rms"].get<double>(), evaluation["log_z"]["rms"].get<double>(), 1e-9);
  EXPECT_EQ(audit["evaluation"]["nll_raw"], evaluation["nll_raw"]);
  EXPECT_TRUE(checked_figures(audit["report"]).contains("log_z_by_length"));
  EXPECT_TRUE(fs::exists(folder / "run/audit.json"));
  const auto words = folder.run({"audit", "run", "words.conll", "--json", "--no-report"}).json();
  EXPECT_EQ(words["certificate"], audit["certificate"]);
  EXPECT_FALSE(words.contains("evaluation"));
  EXPECT_EQ(folder.run({"audit", "run", "test.conll", "--require", "eps=100", "--no-report"}).code, 0);
  EXPECT_EQ(folder.run({"audit", "run", "test.conll", "--require", "eps=1e-9", "--no-report"}).code, 3);
  const Outcome trained = folder.run({"audit", "run", "data.conll", "--no-report"});
  EXPECT_NE(trained.out.find("trained on"), std::string::npos) << trained.out;
}

}  // namespace
}  // namespace selfnorm::cli
