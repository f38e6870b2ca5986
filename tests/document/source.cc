#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "document/document.h"
#include "scratch.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

void write(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

std::string document(const std::string& name) {
  ReportDocument out{.name = name, .command = "audit", .title = name};
  out.notes = {"note of " + name};
  out.cards = {{"nll_exact", "NLL", name, 1, ""}};
  out.section("Normalisation");
  return document_text(out);
}

constexpr const char* kConfig =
    R"({"command": "train density", "options": {"objective": "snl"}, "data": {"path": "x.csv"}})";
constexpr const char* kMetrics = R"({"step":1,"epoch":0,"loss":2.5,"penalty":0,"regulariser":0,"seconds":1}
{"step":2,"epoch":0,"loss":2.25,"penalty":0,"regulariser":0,"seconds":2}
)";

std::string source_complaint(const std::string& path) {
  try {
    read_report(path);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Source, DocumentsAreFoundInJson) {
  const Scratch folder;
  write(folder / "a.json", document("plain"));
  write(folder / "b.json", R"({"n": 3, "report": )" + document("inside") + "}");
  EXPECT_EQ(read_report(folder / "a.json").name, "plain");
  EXPECT_EQ(read_report(folder / "b.json").name, "inside");
}

TEST(Source, TrainingPrintsWhereItsRunIs) {
  const Scratch folder;
  write(folder / "run/config.json", kConfig);
  write(folder / "run/report.json", document("of the run"));
  write(folder / "printed.json", R"({"run": ")" + (folder / "run") + R"("})");
  const ReportDocument out = read_report(folder / "printed.json");
  EXPECT_EQ(out.cards.at(0).value, "of the run");
  EXPECT_EQ(out.name, folder / "run");  // where it is now, whatever it was called
}

TEST(Source, RunHasItsCurvesItsReportAndItsAudit) {
  const Scratch folder;
  write(folder / "run/config.json", kConfig);
  write(folder / "run/metrics.jsonl", kMetrics);
  write(folder / "run/report.json", document("run"));
  write(folder / "run/audit.json", document("later"));
  const ReportDocument out = read_report(folder / "run/");
  ASSERT_EQ(out.sections.size(), 4u);
  EXPECT_EQ(out.sections[0].title, "Audit: Normalisation");
  EXPECT_EQ(out.sections[1].title, "Training");
  EXPECT_EQ(out.sections[2].title, "Normalisation");
  ASSERT_EQ(out.cards.size(), 1u);
  EXPECT_EQ(out.cards[0].value, "later");
  EXPECT_EQ(out.notes, std::vector<std::string>{"note of later"});
  const ReportTable& before = out.sections[1].tables.at(0);
  EXPECT_EQ(std::get<std::string>(before.table.rows.at(0).at(1)), "run");
  EXPECT_NE(before.look.find("note of run"), std::string::npos);
}

TEST(Source, RecordOfARun) {
  const Scratch folder;
  write(folder / "run/config.json",
        R"({"command": "train density", "data": {"path": "x.csv", "rows": 9, "hash": "0a1b"},
            "options": {"objective": "snl", "seed": 3, "hold-out": "auto", "weights": ""}})");
  write(folder / "run/metrics.jsonl", kMetrics);
  write(folder / "run/report.json", document("run"));
  const ReportDocument out = read_report(folder / "run");
  EXPECT_EQ(out.cards.back().id, "measured_on");
  EXPECT_EQ(out.cards.back().value, "x.csv (0a1b), held out: auto by seed 3");
  ASSERT_EQ(out.sections.back().title, "Record");
  std::map<std::string, Cell> found;
  for (const auto& row : out.sections.back().tables.at(0).table.rows)
    found.emplace(std::get<std::string>(row.at(0)), row.at(1));
  EXPECT_EQ(found.at("data: hash"), Cell("0a1b"));
  EXPECT_EQ(found.at("--seed"), Cell("3"));
  EXPECT_EQ(found.at("training time, s"), Cell(2.0));
  EXPECT_FALSE(found.contains("--weights"));
}

TEST(Source, RunThatIsNotFinishedShowsItsCurves) {
  const Scratch folder;
  write(folder / "run/config.json", kConfig);
  write(folder / "run/metrics.jsonl", kMetrics);
  const ReportDocument out = read_report(folder / "run");
  EXPECT_EQ(out.command, "train density");
  EXPECT_EQ(out.sections.at(0).title, "Training");
  EXPECT_NE(out.notes.at(0).find("not finished"), std::string::npos);
  EXPECT_EQ(out.cards.at(0).value, "x.csv");
  EXPECT_EQ(out.cards.at(1).value, "snl");
}

TEST(Source, ExperimentsOfAFolderFollowEachOther) {
  const Scratch folder;
  write(folder / "out/b.json", R"({"experiment": "b", "report": )" + document("second") + "}");
  write(folder / "out/a.json", R"({"experiment": "a", "report": )" + document("first") + "}");
  write(folder / "out/other.json", "{}");
  const ReportDocument out = read_report(folder / "out");
  EXPECT_EQ(out.sections.size(), 2u);
  EXPECT_EQ(out.notes.at(0), "first: note of first");
}

TEST(Source, ErrorsSayWhatWasExpected) {
  const Scratch folder;
  write(folder / "bad.json", "{");
  write(folder / "other.json", R"({"nll": 1, "run": "nowhere"})");
  write(folder / "empty/x.txt", "");
  write(folder / "run/config.json", "no");
  EXPECT_NE(source_complaint(folder / "missing.json").find("cannot be read"), std::string::npos);
  EXPECT_NE(source_complaint(folder / "bad.json").find("not JSON"), std::string::npos);
  EXPECT_NE(source_complaint(folder / "other.json").find("no report in it"), std::string::npos);
  EXPECT_NE(source_complaint(folder / "empty").find("neither a run"), std::string::npos);
  EXPECT_NE(source_complaint(folder / "run").find("not JSON"), std::string::npos);
  write(folder / "run/config.json", "[]");
  EXPECT_NE(source_complaint(folder / "run").find("expected a JSON object"), std::string::npos);
  write(folder / "run/config.json", R"({"command": 3, "data": {"path": 5}, "options": []})");
  EXPECT_EQ(read_report(folder / "run").cards.at(0).value, "unknown");
}

}  // namespace
}  // namespace selfnorm
