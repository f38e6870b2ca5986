// Counts from training to samples, and exponential families that are fitted at once.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "cli/density_data.h"

namespace selfnorm::cli {
namespace {

TEST(DensityCounts, FromTrainingToSamples) {
  const Folder folder;
  write_counts(folder);
  const Outcome trained = folder.run(
      {"train", "density", "counts.csv", "--energy", "poisson", "--hold-out", "0", "--json", "--out", "run"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const auto info = folder.run({"info", "run", "--json"}).json();
  EXPECT_EQ(info["space"], "counts");
  EXPECT_TRUE(info["proposal"] == "counts" || info["proposal"] == "products");
  EXPECT_EQ(info["normalizer"], "learned");

  const auto json = folder.run({"evaluate", "run", "counts.csv", "--json"}).json();
  EXPECT_EQ(json["log_z"]["method"], "closed-form");
  EXPECT_NEAR(json["b"].get<double>(), json["log_z"]["value"].get<double>(), 1e-9);
  EXPECT_EQ(json["trusted"], true);
  EXPECT_TRUE(json["log_z"]["tail"].is_null());
  const auto sampled =
      folder.run({"evaluate", "run", "counts.csv", "--json", "--method", "importance"}).json();
  EXPECT_TRUE(sampled["log_z"]["tail"].is_number());
  EXPECT_NEAR(sampled["nll"].get<double>(), json["nll"].get<double>(), 0.02);

  folder.write("one.csv", "a,b\n3,400\n");  // beyond what was seen
  const Outcome scored = folder.run({"score", "run", "one.csv"});
  ASSERT_EQ(scored.code, 0) << scored.err;
  folder.write("half.csv", "a,b\n3,0.5\n");
  EXPECT_NE(folder.run({"score", "run", "half.csv"}).out.find("-inf"), std::string::npos);

  const Outcome drawn = folder.run({"sample", "run", "-n", "2000", "--quiet"});
  ASSERT_EQ(drawn.code, 0) << drawn.err;
  std::istringstream lines(drawn.out);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "a,b");
  double sum[2] = {}, rows = 0;
  while (std::getline(lines, line)) {
    const double a = std::stod(line), b = std::stod(line.substr(line.find(',') + 1));
    ASSERT_EQ(a, std::floor(a));
    sum[0] += a, sum[1] += b, ++rows;
  }
  EXPECT_EQ(rows, 2000);
  // Five standard deviations of 300 rows and 2,000 draws.
  EXPECT_NEAR(sum[0] / rows, 2, 5 * std::sqrt(2.0 / 300 + 2.0 / 2000));
  EXPECT_NEAR(sum[1] / rows, 8, 5 * std::sqrt(8.0 / 300 + 8.0 / 2000));
}

// b is 2 a or one more, which a product of counts cannot say: the network is worth keeping.
TEST(DensityCounts, NetworksOverCounts) {
  const Folder folder;
  std::minstd_rand random(1);
  std::string text = "a,b\n";
  for (int i = 0; i < 300; ++i) {
    const auto a = static_cast<int>(5 * uniform(random));
    text += fmt::format("{},{}\n", a, 2 * a + static_cast<int>(2 * uniform(random)));
  }
  folder.write("counts.csv", text);
  const Outcome trained =
      folder.run({"train", "density", "counts.csv", "--space", "counts", "--energy", "mlp:8", "--proposal",
                  "counts", "--samples", "64", "--steps", "200", "--out", "run", "--json", "--quiet"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const auto audit = trained.json()["audit"];
  EXPECT_EQ(audit["log_z"]["method"], "importance");
  EXPECT_EQ(audit["trusted"], true) << audit;
}

TEST(DensityCounts, WhatIsNoCountIsAnError) {
  const Folder folder;
  write_lumps(folder);
  write_counts(folder);
  expect_user_error(
      folder.run({"train", "density", "data.csv", "--energy", "poisson", "--quiet", "--out", "run"}),
      "--energy poisson needs whole numbers");
  expect_user_error(
      folder.run({"train", "density", "data.csv", "--energy", "exponential", "--quiet", "--out", "run"}),
      "outside the support of exponential");
  expect_user_error(folder.run({"train", "density", "counts.csv", "--energy", "poisson", "--space", "real",
                                "--quiet", "--out", "run"}),
                    "expected --space counts");
}

// The closed form of the maximum of a Gaussian's likelihood, once at once and once by minibatches.
TEST(DensityCounts, FamiliesAreFittedAtOnce) {
  const Folder folder;
  write_lumps(folder);
  const auto nll = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"train",  "density", "data.csv", "--hold-out", "0",
                                   "--json", "--quiet", "--out",    "run",        "--overwrite"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = folder.run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.json()["audit"]["nll"].get<double>();
  };
  const double fitted = nll({"--objective", "fit", "--proposal", "gaussian"});
  const double snl = nll({"--energy", "gaussian"});
  EXPECT_NEAR(snl, fitted, 1e-3);
  const double adam = nll({"--energy", "gaussian", "--optimiser", "adam", "--steps", "20"});
  EXPECT_GT(adam, snl);
  EXPECT_NEAR(adam, snl, 0.2);
}

}  // namespace
}  // namespace selfnorm::cli
