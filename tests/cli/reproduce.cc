// The command of the papers' figures, on the experiments that take no time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "cli/program.h"

namespace selfnorm::cli {
namespace {

TEST(Reproduce, WritesDataAndFigureAndSaysWhatThePaperSays) {
  const Folder folder;
  const Outcome outcome = folder.run({"reproduce", "theorem4", "--out", "new/out"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("paper: "), std::string::npos);
  EXPECT_NE(outcome.out.find("measured: "), std::string::npos);
  for (const char* ending : {"json", "csv", "gp", "svg"}) {
    EXPECT_FALSE(content(folder / ("new/out/theorem4." + std::string(ending))).empty()) << ending;
  }
  EXPECT_TRUE(outcome.out.ends_with("selfnorm report new/out draws all of it on one page\n")) << outcome.out;
  const auto report = nlohmann::json::parse(content(folder / "new/out/theorem4.json"))["report"];
  EXPECT_EQ(report["sections"][0]["figures"][0]["id"], "theorem4");
  EXPECT_NE(report["sections"][0]["figures"][0]["look"].get<std::string>().find("The theorem says"),
            std::string::npos);
}

TEST(Reproduce, DocumentPointsAtTheFigures) {
  const Folder folder;
  std::filesystem::create_directory(folder / "docs");
  const Outcome outcome =
      folder.run({"reproduce", "fig1b", "--out", "docs/figures", "--document", "docs/result.md", "--json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(content(folder / "docs/result.md").find("](figures/fig1b.svg)"), std::string::npos);
  const nlohmann::json json = outcome.json();
  EXPECT_EQ(json["document"], "docs/result.md");
  EXPECT_EQ(json["experiments"][0]["experiment"], "fig1b");
  EXPECT_EQ(json["experiments"][0]["figure"], "docs/figures/fig1b.svg");
  EXPECT_GT(json["experiments"][0]["facts"]["least_midpoint_ratio"], 1);
  EXPECT_FALSE(json["experiments"][0].contains("report"));  // it is in the file
}

// The one of the densities that takes no time: there are no tables.
TEST(Reproduce, DensitiesHaveTheirOwnWordsAndData) {
  const Folder folder;
  std::filesystem::create_directory(folder / "empty");
  const Outcome outcome = folder.run({"reproduce", "density-tables", "--out", "out", "--data", "empty",
                                      "--document", "density.md", "--fresh"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("asked: "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("NOT MEASURED"), std::string::npos) << outcome.out;
  EXPECT_TRUE(content(folder / "density.md").starts_with("# Energy-based densities"));
  expect_user_error(folder.run({"reproduce", "density-tables", "--out", "out", "--data", "none"}), "--data");
}

// The whole group without its data: a page that says so.
TEST(Reproduce, RegressionIsAGroupWithItsPage) {
  const Folder folder;
  std::filesystem::create_directory(folder / "empty");
  const Outcome outcome = folder.run({"reproduce", "regression", "--out", "out", "--data", "empty"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const std::string page = content(folder / "out/regression.md");
  EXPECT_TRUE(page.starts_with("# Energy-based regression"));
  for (const char* part : {"## regression-tasks: ", "## regression-uci: ", "NOT MEASURED: task 1, task 2",
                           "NOT MEASURED: boston"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
}

// The part of the sequences that needs data, without them; the other one is timing.
TEST(Reproduce, SequencesSayThatTheirTreebankIsMissing) {
  const Folder folder;
  std::filesystem::create_directory(folder / "empty");
  const Outcome outcome = folder.run(
      {"reproduce", "sequences-ewt", "--out", "out", "--data", "empty", "--document", "sequences.md"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const std::string page = content(folder / "sequences.md");
  EXPECT_TRUE(page.starts_with("# Sequences"));
  EXPECT_NE(page.find("NOT MEASURED: en_ewt-ud-train.conllu"), std::string::npos) << page;
  expect_user_error(folder.run({"reproduce", "sequences", "--out", "out", "--data", "none"}),
                    "ud-english-ewt");
}

TEST(Reproduce, QuietPrintsResultsAlone) {
  const Folder folder;
  const Outcome outcome = folder.run({"reproduce", "fig1a", "--out", "out", "--quiet"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_NE(outcome.out.find("measured:"), std::string::npos) << outcome.out;
}

TEST(Reproduce, RefusesWhatItCannotDo) {
  const Folder folder;
  folder.write("file", "too few words");
  expect_user_error(folder.run({"reproduce", "fig3", "--out", "out"}), "fig2b");
  expect_user_error(folder.run({"reproduce", "fig1a"}), "--out");
  expect_user_error(folder.run({"reproduce", "fig1a", "--out", "file"}), "file");
  expect_user_error(folder.run({"reproduce", "fig1a", "--out", "file/below"}), "file/below");
  expect_user_error(folder.run({"reproduce", "fig1a", "--out", "/proc/out"}), "/proc/out");
  expect_user_error(folder.run({"reproduce", "fig1a", "--out", "out", "--document", "no/such/x.md"}),
                    "no/such/x.md");
  expect_user_error(folder.run({"reproduce", "fig2a", "--out", "out", "--text", "missing"}), "missing");
  expect_user_error(folder.run({"reproduce", "fig2a", "--out", "out", "--text", "file"}), "longer text");
  EXPECT_TRUE(std::filesystem::is_empty(folder / "out"));
}

TEST(Reproduce, WithoutGnuplotWarnsAndWritesTheData) {
  const Folder folder;
  const std::string path = std::getenv("PATH");
  setenv("PATH", (folder / "nothing").c_str(), 1);
  const Outcome outcome = folder.run({"reproduce", "fig1a", "--out", "out", "--quiet"});
  setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.err.find("apt-get install gnuplot-nox"), std::string::npos) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
  EXPECT_FALSE(content(folder / "out/fig1a.csv").empty());
  EXPECT_FALSE(std::filesystem::exists(folder / "out/fig1a.svg"));
}

}  // namespace
}  // namespace selfnorm::cli
