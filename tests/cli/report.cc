#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "cli/head.h"
#include "cli/program.h"

namespace selfnorm::cli {
namespace {

// The document in a page, found as a browser finds it.
nlohmann::json document_of(const std::string& page) {
  const std::string open = R"(<script type="application/json" id="data">)";
  const size_t begin = page.find(open);
  if (begin == std::string::npos) return nullptr;
  const size_t end = page.find("</script>", begin);
  return nlohmann::json::parse(page.substr(begin + open.size(), end - begin - open.size()));
}

std::set<std::string> figures_of(const nlohmann::json& document) {
  std::set<std::string> ids;
  for (const auto& section : document["sections"])
    if (section.contains("figures"))
      for (const auto& figure : section["figures"]) ids.insert(figure["id"].get<std::string>());
  return ids;
}

bool is_there(const std::string& path) { return std::filesystem::exists(path); }

Outcome trained(const Folder& folder, const std::string& out, const std::vector<std::string>& more = {}) {
  std::vector<std::string> words{"train", "classifier", "--objective", "penalty", "data.svm", "--out", out};
  words.insert(words.end(), more.begin(), more.end());
  return folder.run(words);
}

TEST(Report, TrainingWritesItsPage) {
  const Folder folder;
  folder.generate("data.svm", 600);
  const Outcome outcome = trained(folder, "run");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("report   run/report.html"), std::string::npos) << outcome.out;
  const auto document = document_of(content(folder / "run/report.html"));
  for (const char* id : {"loss", "penalty", "training_log_z", "log_z_histogram", "log_z_norm",
                         "log_z_confidence", "raw_exact", "reliability", "trade_off"})
    EXPECT_TRUE(figures_of(document).contains(id)) << id;
  std::set<std::string> cards;
  for (const auto& card : document["cards"]) cards.insert(card["id"].get<std::string>());
  for (const char* id : {"model", "data", "nll_exact", "nll_raw", "rms_log_z", "certificate"})
    EXPECT_TRUE(cards.contains(id)) << id;
  for (const auto& section : document["sections"])
    for (const auto& figure : section.value("figures", nlohmann::json::array()))
      EXPECT_FALSE(figure.value("look", "").empty()) << figure["id"];
}

TEST(Report, CanBeLeftOut) {
  const Folder folder;
  folder.generate();
  const Outcome outcome = trained(folder, "run", {"--no-report", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(outcome.json()["page"].is_null());
  EXPECT_FALSE(is_there(folder / "run/report.html"));
  EXPECT_TRUE(is_there(folder / "run/report.json"));
  ASSERT_EQ(folder.run({"report", "run"}).code, 0);
  EXPECT_TRUE(is_there(folder / "report.html"));

  ASSERT_EQ(folder.run({"audit", "run", "data.svm", "--no-report"}).code, 0);
  EXPECT_FALSE(is_there(folder / "run/report.html"));
  EXPECT_FALSE(is_there(folder / "run/audit.json"));
}

TEST(Report, AnAuditJoinsItsRun) {
  const Folder folder;
  folder.generate("data.svm", 600);
  ASSERT_EQ(trained(folder, "run").code, 0);
  const Outcome outcome = folder.run({"audit", "run/model.safetensors", "data.svm"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("run/report.html"), std::string::npos);
  const auto document = document_of(content(folder / "run/report.html"));
  std::set<std::string> titles;
  for (const auto& section : document["sections"]) titles.insert(section["title"].get<std::string>());
  EXPECT_TRUE(titles.contains("Training"));
  EXPECT_TRUE(titles.contains("Normalisation"));
  EXPECT_TRUE(titles.contains("Audit: Normalisation"));
  EXPECT_FALSE(is_there(folder / "report.html"));
}

TEST(Report, AnAuditOfAHeadWritesHereOrWhereItIsTold) {
  const Folder folder;
  folder.generate("data.svm", 600);
  const std::string truth = "data.svm.truth.safetensors";
  ASSERT_EQ(folder.run({"audit", truth, "data.svm"}).code, 0);
  EXPECT_TRUE(is_there(folder / "report.html"));
  EXPECT_TRUE(is_there(folder / "report.json"));
  ASSERT_EQ(folder.run({"audit", truth, "data.svm", "--report", "other.html"}).code, 0);
  EXPECT_TRUE(is_there(folder / "other.html"));
  EXPECT_TRUE(is_there(folder / "other.json"));
  expect_user_error(folder.run({"audit", truth, "data.svm", "--report", "nowhere/other.html"}), "nowhere");
}

// Before the audit where that can be known, after it was printed where it cannot.
TEST(Report, APageThatCannotBeWrittenLosesNoAudit) {
  const Folder folder;
  folder.generate("data.svm", 600);
  const auto audited = [&](const std::string& page, const std::string& data = "data.svm") {
    return folder.run({"audit", "data.svm.truth.safetensors", data, "--report", page});
  };
  // The audit would fail on its data.
  expect_user_error(audited("nowhere/other.html", "missing.svm"), "--report nowhere/other.html: ");
  std::filesystem::create_directory(folder / "page.html");
  expect_user_error(audited("page.html", "missing.svm"), "--report page.html: ");
  std::filesystem::create_directory(folder / "other.json");
  expect_user_error(audited("other.html", "missing.svm"), "--report other.html: ");
  for (const char* name : {"x.json", "x.JSON", "here/x.json"})
    expect_user_error(audited(name, "missing.svm"), "ends in .json");
  EXPECT_FALSE(is_there(folder / "x.json"));
  EXPECT_EQ(audited("good.html").code, 0);
  EXPECT_TRUE(document_of(content(folder / "good.html")).is_object());
}

// The folder goes away while the data are read: from a pipe that the program waits for.
TEST(Report, AFolderThatGoesAwayLosesNoAudit) {
  for (const bool json : {false, true}) {
    const Folder folder;
    folder.generate("data.svm", 600);
    std::filesystem::create_directory(folder / "pages");
    ASSERT_EQ(mkfifo((folder / "pipe.svm").c_str(), 0600), 0);
    std::vector<std::string> words{"audit", "data.svm.truth.safetensors", "pipe.svm", "--report",
                                   "pages/p.html"};
    if (json) words.push_back("--json");
    const Outcome outcome = folder.run(words, [&](pid_t) {
      std::ofstream pipe(folder / "pipe.svm");  // opens when the program has come so far
      std::filesystem::remove_all(folder / "pages");
      pipe << content(folder / "data.svm");
    });
    EXPECT_EQ(outcome.code, 1);
    EXPECT_NE(outcome.err.find("--report pages/p.html: "), std::string::npos) << outcome.err;
    if (json) {
      EXPECT_TRUE(outcome.json()["page"].is_null() && outcome.json()["n"] == 600);
    } else {
      EXPECT_NE(outcome.out.find("CERTIFIED"), std::string::npos) << outcome.out;
    }
  }
}

TEST(Report, WhatIsNotOursIsLeftAsItIs) {
  const Folder folder;
  folder.generate("data.svm", 600);
  folder.write("report.html", "mine");
  const Outcome outcome = folder.run({"audit", "data.svm.truth.safetensors", "data.svm"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.err.find("not a page of selfnorm"), std::string::npos) << outcome.err;
  EXPECT_EQ(content(folder / "report.html"), "mine");
  EXPECT_FALSE(is_there(folder / "report.json"));
  ASSERT_EQ(trained(folder, "run").code, 0);
  expect_user_error(folder.run({"report", "run"}), "not a page of selfnorm");
  ASSERT_EQ(folder.run({"report", "run", "-o", "report.html"}).code, 0);
  EXPECT_NE(content(folder / "report.html"), "mine");
  folder.write("other.json", "{\"mine\": 1}");
  expect_user_error(folder.run({"audit", "data.svm.truth.safetensors", "data.svm", "--report", "other.html"}),
                    "not the data of a report");
}

TEST(Report, AFolderWithSomebodysOwnPageCanHoldARun) {
  const Folder folder;
  folder.generate();
  std::filesystem::create_directory(folder / "own");
  folder.write("own/report.html", "mine");
  folder.write("own/report.json", "{}");
  const Outcome outcome = trained(folder, "own");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.err.find("left as it is"), std::string::npos) << outcome.err;
  EXPECT_EQ(content(folder / "own/report.html"), "mine");
  EXPECT_EQ(content(folder / "own/report.json"), "{}");
  EXPECT_TRUE(is_there(folder / "own/model.safetensors"));
  EXPECT_EQ(trained(folder, "other", {"--centre", "x"}).code, 1);
}

TEST(Report, IsMadeOfWhatAuditPrints) {
  const Folder folder;
  folder.generate("data.svm", 600);
  const Outcome outcome =
      folder.run({"audit", "data.svm.truth.safetensors", "data.svm", "--json", "--no-report"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  folder.write("audit.json", outcome.out);
  const Outcome made = folder.run({"report", "audit.json", "-o", "page.html", "--json"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(made.json()["page"], "page.html");
  auto document = document_of(content(folder / "page.html"));
  document.erase("version");
  EXPECT_EQ(document, outcome.json()["report"]);
}

TEST(Report, SeveralRunsAreCompared) {
  const Folder folder;
  folder.generate("data.svm", 600);
  ASSERT_EQ(trained(folder, "a", {"--objective", "exact"}).code, 0);
  ASSERT_EQ(trained(folder, "b", {"--objective", "penalty", "--alpha", "1"}).code, 0);
  ASSERT_EQ(folder.run({"report", "a", "b"}).code, 0);
  const auto document = document_of(content(folder / "report.html"));
  const auto& compared = document["sections"][0];
  EXPECT_EQ(compared["title"], "Compared");
  EXPECT_EQ(compared["tables"][0]["rows"].size(), 2u);
  EXPECT_EQ(compared["figures"][0]["panels"][0]["series"].size(), 2u);
  EXPECT_TRUE(figures_of(document).contains("loss"));
}

TEST(Report, APageOfHostileLabelsHoldsNoMarkupOfTheirs) {
  const Folder folder;
  std::string table = "x1,x2,label\n";
  for (int i = 0; i < 200; ++i)
    table += std::to_string(i % 7) + "," + std::to_string(i % 3) + "," +
             (i % 2 == 0 ? "\"<img src=x onerror=alert(1)>\"" : "\"</script><script>alert(2)</script>\"") +
             "\n";
  folder.write("data.csv", table);
  const Outcome outcome =
      folder.run({"train", "classifier", "--objective", "penalty", "data.csv", "--out", "run"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string page = content(folder / "run/report.html");
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find("alert(2)</script>"), std::string::npos);
  EXPECT_NE(document_of(page).dump().find("<img src=x onerror=alert(1)>"), std::string::npos);
}

TEST(Report, ARunThatReplacesAnotherLeavesNoAuditOfIt) {
  const Folder folder;
  folder.generate("data.svm", 600);
  ASSERT_EQ(trained(folder, "run").code, 0);
  ASSERT_EQ(folder.run({"audit", "run", "data.svm"}).code, 0);
  ASSERT_TRUE(is_there(folder / "run/audit.json"));
  ASSERT_EQ(trained(folder, "run", {"--overwrite"}).code, 0);
  EXPECT_FALSE(is_there(folder / "run/audit.json"));
  EXPECT_TRUE(is_there(folder / "run/report.html"));
}

TEST(Report, IsTheSameForAnyNumberOfThreads) {
  const Folder folder;
  folder.generate("data.svm", 600);
  for (const char* threads : {"1", "3"}) {
    ASSERT_EQ(folder
                  .run({"audit", "data.svm.truth.safetensors", "data.svm", "--threads", threads, "--report",
                        std::string(threads) + ".html"})
                  .code,
              0);
  }
  EXPECT_EQ(content(folder / "1.html"), content(folder / "3.html"));
}

TEST(Report, RefusesWhatIsNoReport) {
  const Folder folder;
  folder.write("other.json", "{}");
  folder.write("words.txt", "words");
  expect_user_error(folder.run({"report", "other.json"}), "no report in it");
  expect_user_error(folder.run({"report", "words.txt"}), "not JSON");
  expect_user_error(folder.run({"report", "missing"}), "cannot be read");
  expect_user_error(folder.run({"report", "."}), "neither a run");
  EXPECT_FALSE(is_there(folder / "report.html"));
}

}  // namespace
}  // namespace selfnorm::cli
