#include "experiments/cells.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "scratch.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

CellValues never() { throw Bug("computed again"); }

TEST(Cells, AreComputedOnceAndComeBackFromTheFile) {
  const Scratch folder;
  const std::string path = folder / "x.cells.jsonl";
  {
    Cells cells(path);
    const CellValues& first = cells.get("a \"b\"", [] {
      return CellValues{{{"gap", 0.1}, {"b", NAN}}, {1, 2.5}};
    });
    EXPECT_EQ(first.at("gap"), 0.1);
    EXPECT_EQ(cells.get("a \"b\"", never).at("gap"), 0.1);
  }
  Cells again(path);
  EXPECT_TRUE(again.has("a \"b\""));
  const CellValues& read = again.get("a \"b\"", never);
  EXPECT_EQ(read.at("gap"), 0.1);
  EXPECT_TRUE(std::isnan(read.at("b")));
  EXPECT_EQ(read.grid, (std::vector<double>{1, 2.5}));
  EXPECT_THROW(read.at("c"), Bug);
}

TEST(Cells, ATornLineIsComputedAgain) {
  const Scratch folder;
  const std::string path = folder / "x.cells.jsonl";
  std::ofstream(path) << "{\"key\":\"a\",\"numbers\":{\"v\":1}}\n{\"key\":\"b\",\"num";
  {
    Cells cells(path);
    EXPECT_EQ(cells.get("a", never).at("v"), 1);
    EXPECT_EQ(cells.get("b", [] { return CellValues{{{"v", 2}}}; }).at("v"), 2);
    EXPECT_EQ(cells.get("c", [] { return CellValues{{{"v", 3}}}; }).at("v"), 3);
  }
  Cells again(path);
  for (const auto& [key, value] : {std::pair{"a", 1}, {"b", 2}, {"c", 3}})
    EXPECT_EQ(again.get(key, never).at("v"), value);
}

TEST(Cells, WithoutAFileNothingIsKept) {
  Cells cells("");
  cells.get("a", [] { return CellValues{{{"v", 1}}}; });
  EXPECT_FALSE(Cells("").has("a"));
}

TEST(Cells, SaysWhenTheFileCannotBeWritten) {
  Cells cells("/proc/no/such/file");
  EXPECT_THROW(cells.get("a", [] { return CellValues{{{"v", 1}}}; }), Error);
}

}  // namespace
}  // namespace selfnorm
