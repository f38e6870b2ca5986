// Bad input of the commands of regressors: what is refused, what is warned about, and that no NaN comes out.
#include <gtest/gtest.h>

#include "cli/regressor_data.h"

namespace selfnorm::cli {
namespace {

void expect_no_nan(const std::string& text) {
  EXPECT_EQ(text.find("nan"), std::string::npos) << text;
  EXPECT_EQ(text.find("inf"), std::string::npos) << text;
}

// rows of "x,y" with x = i and y as given
std::string rows_of(int rows, const std::function<std::string(int)>& row) {
  std::string text = "x,y\n";
  for (int i = 0; i < rows; ++i) text += row(i) + "\n";
  return text;
}

TEST(RegressorErrors, OptionsThatDoNothingAreRefused) {
  const Folder folder;
  write_table(folder);
  const auto before = folder.names();
  const auto error = [&](const std::vector<std::string>& more, const std::string& text) {
    std::vector<std::string> words{"train", "regressor", "data.csv", "--quiet", "--out", "run"};
    words.insert(words.end(), more.begin(), more.end());
    expect_user_error(folder.run(words), text);
  };
  error({"--noise", "0.2"}, "--noise belongs to --objective nce+, kld-is, dsm");
  error({"--langevin-steps", "3"}, "--langevin-steps belongs to --objective mcmc");
  error({"--objective", "sm", "--samples", "7"}, "--samples belongs to");
  error({"--objective", "mdn", "--joint", "7"}, "--joint belongs to score networks");
  error({"--objective", "is", "--no-calibrate"}, "--no-calibrate belongs to --objective snl, nce");
  error({"--module", "m.pt", "--features", "7"}, "--features belongs to feature networks of ours");
  error({"--hold-out", "0.2", "--valid", "data.csv"}, "--hold-out");
  error({"--features", "8,x"}, "--features '8,x'");
  error({"--features", "0,8"}, "features");
  error({"--lower", "a"}, "--lower 'a'");
  error({"--lower", "3", "--upper", "2"}, "lower");
  error({"--module", "missing.pt", "--ignore", "colour"}, "missing.pt");
  EXPECT_EQ(folder.names(), before);
}

TEST(RegressorErrors, BadDataSayWhereAndLeaveNothing) {
  const Folder folder;
  write_table(folder, "good.csv", 30);
  folder.write("empty.csv", "");
  folder.write("one.csv", "x,y\n1,2\n");
  folder.write("ragged.csv", "x,y\n1,2\n3\n");
  folder.write("text.csv", "x,y\n1,2\n3,four\n4,5\n");
  folder.write("gap.csv", "x,y\n1,2\n3,\n4,5\n");
  folder.write("constant.csv", rows_of(30, [](int i) { return fmt::format("{},7", i); }));
  folder.write("still.csv", rows_of(30, [](int i) { return fmt::format("3,{}", i * i); }));
  folder.write("other.csv", "a,b,c\n1,2,3\n4,5,6\n");
  folder.write("negative.csv", rows_of(30, [](int i) { return fmt::format("{},{}", i, i - 3); }));
  const auto before = folder.names();
  const auto error = [&](const std::string& data, const std::vector<std::string>& more,
                         const std::string& text) {
    std::vector<std::string> words = tiny_regressor(data, "run", {"--quiet"});
    words.insert(words.end(), more.begin(), more.end());
    expect_user_error(folder.run(words), text);
  };
  error("missing.csv", {}, "missing.csv");
  error("empty.csv", {}, "empty.csv");
  error("one.csv", {}, "1 rows to train on");
  error("ragged.csv", {}, "ragged.csv:3");
  error("text.csv", {}, "text.csv:3");
  error("gap.csv", {}, "gap.csv:3");
  error("constant.csv", {}, "target y of constant.csv is 7 in every training row");
  error("still.csv", {}, "no column that could predict");
  error("other.csv", {}, "other.csv: found no column y or target");
  error("other.csv", {}, "a, b, c");
  error("good.csv", {"--target", "w"},
        "--target w: good.csv has no such column; expected one or more of x, colour, y");
  error("good.csv", {"--target", "y,y"}, "twice");
  error("good.csv", {"--target", "colour"}, "colour");
  error("good.csv", {"--ignore", "q"}, "q");
  error("good.csv", {"--valid", "other.csv"}, "other.csv");
  error("negative.csv", {"--lower", "0"}, "outside [0, inf]");
  expect_user_error(folder.run({"train", "regressor"}), "train regressor needs DATA");
  EXPECT_EQ(folder.names(), before);
  const Outcome skipped = folder.run(tiny_regressor("gap.csv", "run", {"--skip-missing-targets"}));
  EXPECT_EQ(skipped.code, 0) << skipped.err;
}

TEST(RegressorErrors, FewDistinctValuesAreWarnedAbout) {
  const Folder folder;
  folder.write("few.csv", rows_of(60, [](int i) { return fmt::format("{},{}", i, i % 3); }));
  const Outcome trained = folder.run(tiny_regressor("few.csv", "run"));
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.err.find("warning: target y has 3 distinct values"), std::string::npos) << trained.err;
  EXPECT_NE(trained.err.find("--noise-floor"), std::string::npos) << trained.err;
  expect_no_nan(trained.out);
  const Outcome bounded = folder.run(tiny_regressor("few.csv", "bounded", {"--noise-floor", "0.3"}));
  ASSERT_EQ(bounded.code, 0) << bounded.err;
  EXPECT_EQ(bounded.err.find("distinct"), std::string::npos) << bounded.err;
}

TEST(RegressorErrors, ColumnsThatTellNothingAreLeftOut) {
  const Folder folder;
  std::string text = "x,same,empty,y\n";
  for (int i = 0; i < 60; ++i) text += fmt::format("{},5,,{}\n", i, i * 0.7 + (i * 7919) % 13);
  folder.write("data.csv", text);
  const Outcome trained = folder.run(tiny_regressor("data.csv", "run"));
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.err.find("1 numeric columns x; 0 categorical; 2 left out"), std::string::npos)
      << trained.err;
  EXPECT_NE(trained.err.find("same"), std::string::npos) << trained.err;
  // Columns that are not needed need not be there.
  folder.write("new.csv", "x\n3\n");
  const Outcome predicted = folder.run({"predict", "run", "new.csv"});
  EXPECT_EQ(predicted.code, 0) << predicted.err;
}

TEST(RegressorErrors, PredictionSaysWhatItMet) {
  const Folder folder;
  train_tiny(folder);
  folder.write("text.csv", "x,colour\n1,red\nabout 2,blue\n");
  expect_user_error(folder.run({"predict", "run", "text.csv"}), "text.csv:3");
  folder.write("narrow.csv", "x\n1\n");
  expect_user_error(folder.run({"predict", "run", "narrow.csv"}), "colour");
  folder.write("odd.csv", "x,colour\n1,green\n2,\n,red\n1e300,blue\n-5e37,violet\n");
  const Outcome odd = folder.run({"predict", "run", "odd.csv"});
  ASSERT_EQ(odd.code, 0) << odd.err;
  EXPECT_NE(odd.err.find("column colour: 1 missing; 2 of levels that training did not have"),
            std::string::npos)
      << odd.err;
  EXPECT_NE(odd.err.find("column x: 1 missing; 2 beyond 10 standard deviations"), std::string::npos)
      << odd.err;
  expect_no_nan(odd.out);
  EXPECT_EQ(std::count(odd.out.begin(), odd.out.end(), '\n'), 6);
  const auto counts = folder.run({"predict", "run", "odd.csv", "--json", "--quiet"}).json()["columns"];
  EXPECT_EQ(counts["colour"]["unseen"], 2);
  EXPECT_EQ(counts["x"]["clipped"], 2);
}

TEST(RegressorErrors, ExtremeOutliersInTraining) {
  const Folder folder;
  std::string text = "x,w,y\n";
  for (int i = 0; i < 60; ++i)
    text += fmt::format("{},{},{}\n", i == 7 ? 1e30 : i * 0.1, i == 9 ? -1e300 : (i * 31) % 17,
                        i + (i * 7919) % 13);
  folder.write("data.csv", text);
  const Outcome trained = folder.run(tiny_regressor("data.csv", "run"));
  ASSERT_EQ(trained.code, 0) << trained.err;
  expect_no_nan(trained.out);
  const Outcome predicted = folder.run({"predict", "run", "data.csv"});
  ASSERT_EQ(predicted.code, 0) << predicted.err;
  expect_no_nan(predicted.out);
}

TEST(RegressorErrors, OtherCommandsSayWhatToUse) {
  const Folder folder;
  train_tiny(folder);
  write_lumps(folder, "points.csv", 50);
  ASSERT_EQ(folder.run(tiny_density("points.csv", "density", {"--quiet"})).code, 0);
  expect_user_error(folder.run({"sample", "run", "-n", "3"}), "predict MODEL DATA -n N");
  expect_user_error(folder.run({"predict", "density", "points.csv", "--quantiles", "0.5"}), "--quantiles");
  expect_user_error(folder.run({"predict", "missing", "data.csv"}), "missing");
  expect_user_error(folder.run({"evaluate", "run", "density", "data.csv"}),
                    "is a regressor and others are not");
  expect_user_error(folder.run({"evaluate", "density", "points.csv", "--draw", "d"}), "it is for regressors");
  expect_user_error(folder.run({"normalize", "run", "--states", "data.csv", "--out", "x"}), "regressor");
  expect_user_error(folder.run({"bounds", "run", "data.csv"}), "regressor");
}

}  // namespace
}  // namespace selfnorm::cli
