// The first page of help, topics, and names that options had.
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/regressor_data.h"

namespace selfnorm::cli {
namespace {

TEST(Help, TheFirstPageIsShortAndNamesEveryCommand) {
  const Folder folder;
  const std::string page = folder.run({"--help"}).out;
  EXPECT_LE(std::count(page.begin(), page.end(), '\n'), 25);
  for (const char* command : {"train classifier", "train lm",    "train crf", "train regressor",
                              "train density",    "predict",     "score",     "tag",
                              "sample",           "evaluate",    "audit",     "normalize",
                              "bounds",           "info",        "report",    "data generate",
                              "reproduce",        "completions", "man",       "help"})
    EXPECT_NE(page.find(command), std::string::npos) << command;
  EXPECT_EQ(page, folder.run({"help"}).out);
}

TEST(Help, Topics) {
  const Folder folder;
  for (const std::string topic : {"data", "choosing", "scores", "output"}) {
    const Outcome shown = folder.run({"help", topic});
    EXPECT_EQ(shown.code, 0) << shown.err;
    EXPECT_GT(shown.out.size(), 300u);
  }
  EXPECT_NE(folder.run({"help", "predict"}).out.find("--top"), std::string::npos);
  expect_user_error(folder.run({"help", "nosuch"}), "nosuch");
}

TEST(Help, FormerNamesOfOptionsAreUnderstood) {
  const Folder folder;
  write_table(folder);
  const Outcome trained = folder.run(tiny_regressor("data.csv", "run", {"--ignore", "x"}));
  EXPECT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.err.find("--ignore is called --drop now"), std::string::npos) << trained.err;
  EXPECT_EQ(folder.run({"train", "regressor", "--help"}).out.find("--ignore"), std::string::npos);
  const Outcome quiet = folder.run({"predict", "run", "data.csv", "--ignore=x", "--quiet"});
  EXPECT_EQ(quiet.code, 0) << quiet.err;
  EXPECT_EQ(quiet.err, "");
}

}  // namespace
}  // namespace selfnorm::cli
