#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cli/program.h"

namespace selfnorm::cli {
namespace {

TEST(DataGenerate, PointsOfAToy) {
  const Folder folder;
  const Outcome made = folder.run(
      {"data", "generate", "--toy", "funnel", "--rows", "50", "--seed", "2", "--out", "a.csv", "--json"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(made.json()["data"], "a.csv");
  EXPECT_EQ(made.json()["toy"], "funnel");
  EXPECT_EQ(made.json()["rows"], 50);
  EXPECT_EQ(made.json()["dimension"], 2);
  EXPECT_NEAR(made.json()["entropy"].get<double>(), std::log(2 * M_PI) + 1, 1e-12);
  const std::string text = content(folder / "a.csv");
  EXPECT_TRUE(text.starts_with("x1,x2\n"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 51);
  EXPECT_EQ(folder
                .run({"data", "generate", "--toy", "funnel", "--rows", "50", "--seed", "2", "--out", "b.csv",
                      "--quiet"})
                .err,
            "");
  EXPECT_EQ(content(folder / "b.csv"), text);
}

TEST(DataGenerate, Dimensions) {
  const Folder folder;
  const Outcome made = folder.run(
      {"data", "generate", "--toy", "mixture", "--dimension", "5", "--rows", "7", "--out", "a.npy"});
  EXPECT_EQ(made.out, "a.npy: 7 points of mixture in 5 dimensions, entropy 5.7084 nats\n") << made.err;
  EXPECT_EQ(content(folder / "a.npy").size() % 64, 7 * 5 * 4 % 64);
  EXPECT_NE(content(folder / "a.npy").find("'shape': (7, 5)"), std::string::npos);
  EXPECT_EQ(folder.run({"data", "generate", "--toy", "ising:3", "--out", "b.csv"}).code, 0);
}

TEST(DataGenerate, Regressions) {
  const Folder folder;
  const Outcome made = folder.run({"data", "generate", "--regression", "task1", "--rows", "400", "--seed",
                                   "2", "--out", "a.csv", "--json"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(made.json()["regression"], "task1");
  EXPECT_EQ(made.json()["rows"], 400);
  EXPECT_EQ(made.json()["target"], "y");
  EXPECT_NEAR(made.json()["true_nll"].get<double>(), -0.3266, 5 * 0.9 / 20);
  const std::string text = content(folder / "a.csv");
  EXPECT_TRUE(text.starts_with("x,y\n"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 401);
  const Outcome mixed =
      folder.run({"data", "generate", "--regression", "mixed", "--rows", "50", "--out", "b.csv"});
  EXPECT_TRUE(mixed.out.starts_with("b.csv: 50 rows of mixed, target y; NLL of the true density"))
      << mixed.err;
  EXPECT_TRUE(content(folder / "b.csv").starts_with("x1,x2,x3,group,y\n"));
}

TEST(DataGenerate, Mistakes) {
  const Folder folder;
  const auto expect = [&](std::vector<std::string> words, const std::string& text) {
    words.insert(words.begin(), {"data", "generate"});
    expect_user_error(folder.run(words), text);
  };
  expect({"--toy", "moon", "--out", "a.csv"}, "toy 'moon' is not known");
  expect({"--toy", "ring", "--dimension", "3", "--out", "a.csv"}, "toy ring in 3 dimensions: expected 2");
  expect({"--toy", "ring"}, "needs --out FILE.csv or FILE.npy");
  expect({"--toy", "ring", "--out", "a.svm"}, "expected a name that ends with .csv or .npy");
  expect({"--toy", "ring", "--rows", "0", "--out", "a.csv"}, "--rows = 0 is out of range");
  expect({"--toy", "ring", "--classes", "4", "--out", "a.csv"}, "--classes");
  expect({"--dimension", "3", "--out", "a.svm"}, "--dimension");
  expect({"--regression", "task9", "--out", "a.csv"}, "regression 'task9' is not known");
  expect({"--regression", "task1"}, "needs --out FILE.csv");
  expect({"--regression", "task1", "--out", "a.npy"}, "expected a name that ends with .csv");
  expect({"--regression", "task1", "--rows", "0", "--out", "a.csv"}, "--rows = 0 is out of range");
  expect({"--regression", "task1", "--toy", "ring", "--out", "a.csv"}, "--toy");
  expect({"--regression", "task1", "--truth", "t", "--out", "a.csv"}, "--truth");
  EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace selfnorm::cli
