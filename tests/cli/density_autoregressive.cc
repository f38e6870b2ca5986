// Autoregressive energies through the program: train, evaluate, score, sample, predict, info, report.
#include <gtest/gtest.h>

#include <cmath>

#include "cli/density_data.h"

namespace selfnorm::cli {
namespace {

// x uniform on [0, 1], y = x^2 + 0.1 e, e exponential: the entropy is 1 + log 0.1.
void write_exponential_curve(const Folder& folder, const std::string& name, int rows, unsigned seed) {
  std::minstd_rand random(seed);
  std::string text = "x,y\n";
  for (int i = 0; i < rows; ++i) {
    const double x = uniform(random);
    text += fmt::format("{:.6f},{:.6f}\n", x, x * x - 0.1 * std::log(uniform(random)));
  }
  folder.write(name, text);
}

TEST(DensityAutoregressive, EveryCommandTakesIt) {
  const Folder folder;
  write_exponential_curve(folder, "data.csv", 2000, 1);
  write_exponential_curve(folder, "test.csv", 1000, 2);
  const Outcome trained =
      folder.run({"train", "density", "data.csv", "--out", "run", "--energy", "autoregressive:24,24",
                  "--proposal", "gaussian", "--steps", "600", "--batch", "128", "--learning-rate", "5e-3"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const auto judged = folder.run({"evaluate", "run", "test.csv", "--json"}).json();
  EXPECT_EQ(judged["trusted"], true);
  EXPECT_EQ(judged["log_z"]["method"], "quadrature");
  EXPECT_LT(judged["log_z"]["high"].get<double>(), 0.01);
  EXPECT_NEAR(judged["nll"].get<double>(), 1 + std::log(0.1), 0.2);
  EXPECT_LT(judged["rms"].get<double>(), 0.2);

  // The mean of exact scores is that likelihood, that of scores with b the other.
  const auto mean_of = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"score", "run", "test.csv", "--json"});
    const auto rows = folder.run(words).json()["rows"];
    double sum = 0;
    for (const auto& row : rows) sum += row["log_prob"].get<double>();
    return sum / static_cast<double>(rows.size());
  };
  EXPECT_NEAR(mean_of({"--exact"}), -judged["nll"].get<double>(), 1e-4);
  EXPECT_NEAR(mean_of({"--raw"}), -judged["nll_b"].get<double>(), 1e-4);

  const auto drawn = folder.run({"sample", "run", "-n", "400", "--json"}).json();
  EXPECT_EQ(drawn["method"], "ancestral");
  double off = 0;
  for (const auto& row : drawn["points"])
    off += (row[1].get<double>() - row[0].get<double>() * row[0].get<double>()) / 400;
  EXPECT_NEAR(off, 0.1, 0.05);
  EXPECT_EQ(folder.run({"info", "run", "--json"}).json()["energy"]["kind"], "autoregressive");
  EXPECT_EQ(folder.run({"predict", "run", "test.csv", "--top", "3"}).code, 0);
  EXPECT_NE(folder.run({"evaluate", "run", "test.csv"}).out.find("(rms "), std::string::npos);
  EXPECT_NE(folder.run({"score", "run", "test.csv", "--exact", "--precision", "1e-6"}).err.find("integrals"),
            std::string::npos);
  expect_user_error(folder.run({"sample", "run", "-n", "5", "--method", "hmc"}), "lines");
  expect_user_error(folder.run({"evaluate", "run", "test.csv", "--method", "annealed"}), "quadrature");
}

TEST(DensityAutoregressive, ALostColumnIsADivergence) {
  const Folder folder;
  write_exponential_curve(folder, "data.csv", 400, 1);
  const Outcome lost =
      folder.run({"train", "density", "data.csv", "--out", "run", "--energy", "autoregressive:24",
                  "--proposal", "gaussian", "--hold-out", "0", "--steps", "200", "--learning-rate", "1e6"});
  EXPECT_EQ(lost.code, 3) << lost.err;
  EXPECT_NE(lost.err.find("infinite or NaN"), std::string::npos) << lost.err;
  const auto judged = folder.run({"evaluate", "run", "data.csv", "--json"}).json();
  EXPECT_LT(judged["nll"].get<double>(), 2);  // a Gaussian's is below 1
}

TEST(DensityAutoregressive, WhatDoesNotFitItIsSaid) {
  const Folder folder;
  write_exponential_curve(folder, "data.csv", 200, 1);
  const std::vector<std::string> words{"train",   "density",  "data.csv",
                                       "--quiet", "--energy", "autoregressive"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return folder.run(more);
  };
  expect_user_error(with({"--drift", "2"}), "--drift");
  expect_user_error(with({"--base", "proposal"}), "--base");
  expect_user_error(with({"--objective", "sm"}), "snl");
  expect_user_error(with({"--periodic", "x=1"}), "autoregressive");
}

}  // namespace
}  // namespace selfnorm::cli
