#include "experiments/regression/table.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "scratch.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

using Files = std::map<std::string, std::string>;

Files small_table() {
  return {{"data.txt", " 1 2\t3.5 \r\n\n4e0 5 -6\n7 8 9\n"},
          {"index_features.txt", "0\n2\n"},
          {"index_target.txt", "1.000e+00\n"},
          {"n_splits.txt", "2\n"},
          {"index_train_0.txt", "2\n0\n"},
          {"index_test_0.txt", "1\n"},
          {"index_train_1.txt", "0\n1\n"},
          {"index_test_1.txt", "2\n"}};
}

RegressionTable read(const Files& files) {
  const Scratch folder;
  for (const auto& [name, text] : files) std::ofstream(folder / name) << text;
  return read_regression_table(folder / "");
}

void expect_error(const std::string& name, const std::string& text, const std::string& part) {
  Files files = small_table();
  files[name] = text;
  try {
    read(files);
    ADD_FAILURE() << "no error for " << name << ": " << text;
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find(name), std::string::npos) << e.what();
  }
}

TEST(RegressionTable, ReadsColumnsAndSplits) {
  const RegressionTable table = read(small_table());
  EXPECT_EQ(table.frame.rows, 3u);
  EXPECT_EQ(table.features(), 2u);
  EXPECT_EQ(table.frame.find("x0")->number, (std::vector<double>{1, 4, 7}));
  EXPECT_EQ(table.frame.find("x2")->number, (std::vector<double>{3.5, -6, 9}));
  EXPECT_EQ(table.frame.find("y")->number, (std::vector<double>{2, 5, 8}));
  EXPECT_EQ(table.frame.line, (std::vector<uint64_t>{1, 3, 4}));
  ASSERT_EQ(table.splits.size(), 2u);
  EXPECT_EQ(table.splits[0].train, (std::vector<uint64_t>{2, 0}));
  EXPECT_EQ(table.splits[1].test, (std::vector<uint64_t>{2}));
}

TEST(RegressionTable, CountsWhatRepeats) {
  Files files = small_table();
  files["data.txt"] = "1 2 3\n1 2 3\n7 2 3\n1 2 3\n";
  const RegressionTable table = read(files);
  EXPECT_EQ(table.repeated, 2u);
  EXPECT_EQ(table.distinct_targets, 1u);
  EXPECT_EQ(read(small_table()).repeated, 0u);
  EXPECT_EQ(read(small_table()).distinct_targets, 3u);
}

TEST(RegressionTable, SaysWhatIsWrong) {
  expect_error("data.txt", "1 2 3\n4 5\n", "2 numbers; expected 3");
  expect_error("data.txt", "1 2 3\n4 five 6\n", "'five'");
  expect_error("data.txt", "1 2 nan\n", "finite");
  expect_error("data.txt", "\n", "no numbers");
  expect_error("index_target.txt", "3\n", "from 0 to 2");
  expect_error("index_features.txt", "-1\n", "from 0 to 2");
  expect_error("index_train_0.txt", "0\n2\n3\n", "from 0 to 2");
  expect_error("index_test_1.txt", "0.5\n", "0.5");
  expect_error("index_test_1.txt", "2\n1\n", "row 1");
  Files files = small_table();
  files.erase("index_test_1.txt");
  EXPECT_THROW(read(files), Error);
}

}  // namespace
}  // namespace selfnorm
