// Real data that end at walls: --lower and --upper of network energies.
#include <gtest/gtest.h>

#include <cmath>

#include "cli/density_data.h"

namespace selfnorm::cli {
namespace {

// x exponential of mean 2 from 5 on, y uniform on [0, 1]: the entropy is 1 + log 2.
void write_walls(const Folder& folder, const std::string& name, int rows, unsigned seed) {
  std::minstd_rand random(seed);
  std::string text = "x,y\n";
  for (int i = 0; i < rows; ++i)
    text += fmt::format("{:.6f},{:.6f}\n", 5 - 2 * std::log(uniform(random)), uniform(random));
  folder.write(name, text);
}

const std::vector<std::string> kWalls{"--lower", "5,0", "--upper", "inf,1"};

std::vector<std::string> with_walls(std::vector<std::string> words) {
  words.insert(words.end(), kWalls.begin(), kWalls.end());
  return words;
}

TEST(DensityInABox, HasNoMassBehindTheWalls) {
  const Folder folder;
  write_walls(folder, "data.csv", 3000, 1);
  write_walls(folder, "test.csv", 2000, 2);
  const Outcome trained =
      folder.run(with_walls({"train", "density", "data.csv", "--out", "run", "--no-report", "--energy",
                             "mlp:16,16", "--steps", "400", "--batch", "128", "--samples", "256"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  const auto judged = folder.run({"evaluate", "run", "test.csv", "--json"}).json();
  EXPECT_EQ(judged["trusted"], true);
  EXPECT_NEAR(judged["nll"].get<double>(), 1 + std::log(2.0), 0.08);
  const Outcome free =
      folder.run({"train", "density", "data.csv", "--out", "free", "--no-report", "--objective", "fit"});
  ASSERT_EQ(free.code, 0) << free.err;
  EXPECT_LT(judged["nll"].get<double>(),
            folder.run({"evaluate", "free", "test.csv", "--json"}).json()["nll"].get<double>());

  const auto points = folder.run({"sample", "run", "-n", "300", "--json"}).json()["points"];
  for (const auto& row : points) {
    EXPECT_GE(row[0].get<double>(), 5 - 1e-5);
    EXPECT_GE(row[1].get<double>(), -1e-6);
    EXPECT_LE(row[1].get<double>(), 1 + 1e-6);
  }
  folder.write("out.csv", "x,y\n4.5,0.5\n");
  const auto outside = folder.run({"evaluate", "run", "out.csv", "--json"}).json();
  EXPECT_EQ(outside["trusted"], false);
}

TEST(DensityInABox, WhatDoesNotFitTheBoxIsSaid) {
  const Folder folder;
  write_walls(folder, "data.csv", 200, 1);
  expect_user_error(
      folder.run({"train", "density", "data.csv", "--quiet", "--lower", "6,0", "--upper", "inf,1"}),
      "column 'x' has the value 5.0");
  expect_user_error(folder.run({"train", "density", "data.csv", "--quiet", "--lower", "5", "--upper", "9"}),
                    "2 columns");
  expect_user_error(folder.run(with_walls({"train", "density", "data.csv", "--quiet", "--base", "none"})),
                    "--base");
  write_bits(folder);
  expect_user_error(
      folder.run({"train", "density", "bits.csv", "--quiet", "--lower", "0,0,0,0", "--upper", "1,1,1,1"}),
      "real numbers");
}

}  // namespace
}  // namespace selfnorm::cli
