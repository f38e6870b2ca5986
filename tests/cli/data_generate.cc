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
                .out,
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
  expect({"--toy", "ring", "--rows", "0", "--out", "a.csv"}, "0 rows");
  expect({"--toy", "ring", "--classes", "4", "--out", "a.csv"}, "--classes");
  expect({"--dimension", "3", "--out", "a.svm"}, "--dimension");
  EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace selfnorm::cli
