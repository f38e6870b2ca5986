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
  // A former name of one command is a name of its own in another, and former words have new ones.
  const Outcome drawn = folder.run({"predict", "run", "data.csv", "--samples", "1", "--format", "json"});
  EXPECT_EQ(drawn.code, 0) << drawn.err;
  EXPECT_NE(drawn.err.find("--samples is called --number now"), std::string::npos) << drawn.err;
  EXPECT_NE(drawn.err.find("--format json is called --output-format json now"), std::string::npos);
  EXPECT_EQ(drawn.out[0], '{');
  folder.generate();
  const Outcome classes = folder.run({"train", "classifier", "data.svm", "--objective", "nce",
                                      "--noise=uniform", "--epochs", "1", "--out", "classes"});
  EXPECT_EQ(classes.code, 0) << classes.err;
  EXPECT_NE(classes.err.find("--noise is called --proposal now"), std::string::npos) << classes.err;
  folder.write("old.toml", "iterations = 3\n");
  const Outcome configured =
      folder.run({"train", "classifier", "data.svm", "--config", "old.toml", "--out", "configured"});
  EXPECT_EQ(configured.code, 0) << configured.err;
  EXPECT_NE(configured.out.find("after 3 steps of lbfgs"), std::string::npos) << configured.out;
}

TEST(Help, QuietSilencesStandardErrorAlone) {
  const Folder folder;
  const Outcome generated =
      folder.run({"data", "generate", "--out", "data.svm", "--rows", "60", "--classes", "3", "--quiet"});
  EXPECT_NE(generated.out.find("60 rows"), std::string::npos);
  const Outcome trained =
      folder.run({"train", "classifier", "data.svm", "--out", "run", "--steps", "2", "--quiet"});
  EXPECT_EQ(trained.err, "");
  EXPECT_NE(trained.out.find("model    run/model.safetensors"), std::string::npos) << trained.out;
  const Outcome failed = folder.run({"evaluate", "none", "data.svm", "--quiet"});
  EXPECT_NE(failed.err, "");
}

}  // namespace
}  // namespace selfnorm::cli
