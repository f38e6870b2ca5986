#include "experiments/record.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "scratch.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

Record small_record() {
  Record record;
  record.name = "small";
  record.title = "a small record";
  record.settings = {{"n", "3"}};
  record.facts = {{"mean", 0.25}, {"shape", "hump"}};
  record.data = {.caption = "", .columns = {"a,b", "c"}, .rows = {}};
  record.data.add({1.5, "say \"so\""});
  record.data.add({NAN, "plain"});
  record.figure = {.title = "t",
                   .panels = {{.title = "p", .x = {.label = "x"}, .y = {.label = "y"}, .series = {}}}};
  record.figure.panels[0].series.push_back({.name = "s", .x = {1, 2}, .y = {3, 4}});
  return record;
}

// While alive, programs are looked for in an empty folder only.
class NoPrograms {
 public:
  explicit NoPrograms(const std::string& folder) : path_(std::getenv("PATH")) {
    setenv("PATH", folder.c_str(), 1);
  }
  ~NoPrograms() { setenv("PATH", path_.c_str(), 1); }
  NoPrograms(const NoPrograms&) = delete;
  NoPrograms& operator=(const NoPrograms&) = delete;

 private:
  std::string path_;
};

TEST(Record, JsonHoldsFactsAndRows) {
  const nlohmann::json json = nlohmann::json::parse(json_text(small_record(), 2.5));
  EXPECT_EQ(json["facts"]["mean"], 0.25);
  EXPECT_EQ(json["facts"]["shape"], "hump");
  EXPECT_EQ(json["rows"][0][0], 1.5);
  EXPECT_TRUE(json["rows"][1][0].is_null());
  EXPECT_EQ(json["seconds"], 2.5);
  EXPECT_EQ(small_record().number("mean"), 0.25);
  EXPECT_THROW(small_record().number("median"), Bug);
}

TEST(Record, WritesDataScriptAndFigure) {
  const Scratch folder;
  const std::string out = folder / "new/deep";
  EXPECT_EQ(write_record(small_record(), 1, out), "");
  for (const char* name : {"small.json", "small.csv", "small.gp"})
    EXPECT_FALSE(content(out + "/" + name).empty()) << name;
  EXPECT_NE(content(out + "/small.svg").find("<svg"), std::string::npos);
}

TEST(Record, WithoutGnuplotTheDataAreWrittenAndTheReasonIsGiven) {
  const Scratch folder;
  const NoPrograms none(folder / "empty");
  const std::string problem = write_record(small_record(), 1, folder / "out");
  EXPECT_NE(problem.find("apt-get install gnuplot-nox"), std::string::npos) << problem;
  EXPECT_FALSE(content(folder / "out/small.csv").empty());
  EXPECT_FALSE(std::filesystem::exists(folder / "out/small.svg"));
}

TEST(Record, RefusesAFolderThatIsAFile) {
  const Scratch folder;
  std::ofstream(folder / "file") << "x";
  EXPECT_THROW(write_record(small_record(), 1, folder / "file"), Error);
  EXPECT_THROW(write_record(small_record(), 1, folder / "file/below"), Error);
}

}  // namespace
}  // namespace selfnorm
