// Cells such as 3..7, 12.. and ..1 in the tables of a density.
#include <gtest/gtest.h>

#include <cmath>

#include "cli/density_data.h"

namespace selfnorm::cli {
namespace {

// x ~ N(0, 1) censored at 1 and at places rounded, y = x + N(0, 1).
void write_censored(const Folder& folder, const std::string& name, int rows, unsigned seed) {
  std::minstd_rand random(seed);
  std::string text = "x,y\n";
  for (int i = 0; i < rows; ++i) {
    const double x = normal(random), y = x + normal(random);
    const double low = std::floor(x);
    text += x > 1        ? fmt::format("1..,{:.5f}\n", y)
            : i % 4 == 0 ? fmt::format("{}..{},..{:.3f}\n", low, low + 1, std::ceil(y))
                         : fmt::format("{:.5f},{:.5f}\n", x, y);
  }
  folder.write(name, text);
}

TEST(DensityIntervals, AreTrainedOnEvaluatedAndScored) {
  const Folder folder;
  write_censored(folder, "data.csv", 1500, 1);
  const Outcome trained = folder.run({"train", "density", "data.csv", "--out", "run", "--no-report",
                                      "--energy", "mlp:8", "--steps", "100", "--proposal", "gaussian"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  folder.write("test.csv", "x,y\n0,0\n-1..1,0\n1..,0\n..1,..0\n");
  const auto scored = folder.run({"score", "run", "test.csv", "--exact"});
  ASSERT_EQ(scored.code, 0) << scored.err;
  EXPECT_NE(scored.err.find("3 rows have intervals"), std::string::npos) << scored.err;
  const auto judged = folder.run({"evaluate", "run", "test.csv", "--json"}).json();
  EXPECT_EQ(judged["intervals"]["rows"], 3);
  double sum = 0;
  std::vector<double> log_p;
  const auto rows = folder.run({"score", "run", "test.csv", "--exact", "--json"}).json();
  for (const auto& row : rows["rows"]) {
    log_p.push_back(row["log_prob"].get<double>());
    sum += log_p.back();
  }
  ASSERT_EQ(log_p.size(), 4u);
  EXPECT_NEAR(judged["nll"].get<double>(), -sum / 4, 1e-6);
  // The truth: y ~ N(0, 2) and x given y = 0 is N(0, 1/2).
  const double y = -std::log(4 * M_PI) / 2;
  const auto below = [](double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; };
  EXPECT_NEAR(log_p[0], -std::log(2 * M_PI), 0.15);
  EXPECT_NEAR(log_p[1], y + std::log(2 * below(std::sqrt(2.0)) - 1), 0.12);
  EXPECT_NEAR(log_p[2], y + std::log(below(-std::sqrt(2.0))), 0.35);
  EXPECT_GT(log_p[3], std::log(0.44));
  EXPECT_LT(log_p[3], std::log(0.54));
  const auto ranked = folder.run({"predict", "run", "test.csv"});
  EXPECT_NE(ranked.err.find("3 rows have intervals"), std::string::npos) << ranked.err;
}

TEST(DensityIntervals, AFitKnowsWhatIsBeyond) {
  const Folder folder;
  write_censored(folder, "data.csv", 3000, 1);
  const Outcome trained = folder.run({"train", "density", "data.csv", "--out", "run", "--no-report",
                                      "--objective", "fit", "--proposal", "gaussian"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  std::minstd_rand random(4);
  std::string text = "x,y\n";
  for (int i = 0; i < 2000; ++i) {
    const double x = normal(random);
    text += fmt::format("{:.5f},{:.5f}\n", x, x + normal(random));
  }
  folder.write("whole.csv", text);
  // The entropy is 1 + log 2 pi.
  EXPECT_NEAR(folder.run({"evaluate", "run", "whole.csv", "--json"}).json()["nll"].get<double>(),
              1 + std::log(2 * M_PI), 0.08);
}

// The same row has the same mass wherever it stands, and none above 1; errors are of 95%.
TEST(DensityIntervals, MassesOfSeveralCells) {
  const Folder folder;
  write_censored(folder, "data.csv", 800, 1);
  const Outcome trained = folder.run({"train", "density", "data.csv", "--out", "run", "--no-report",
                                      "--objective", "fit", "--proposal", "student-t"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  folder.write("test.csv", "x,2020\n0..1,0..1\n..50,..50\n0..1,0..1\n");
  expect_user_error(folder.run({"score", "run", "test.csv"}), "2020");  // a header, not a row
  folder.write("test.csv", "x,y\n0..1,0..1\n..50,..50\n0..1,0..1\n");
  const Outcome scored = folder.run({"score", "run", "test.csv", "--exact", "--json"});
  ASSERT_EQ(scored.code, 0) << scored.err;
  EXPECT_NE(scored.err.find("(95%) or better"), std::string::npos) << scored.err;
  const auto rows = scored.json()["rows"];
  EXPECT_EQ(rows[0]["log_prob"], rows[2]["log_prob"]);
  EXPECT_LE(rows[1]["log_prob"].get<double>(), 0);
  EXPECT_NEAR(rows[1]["log_prob"].get<double>(), 0, 0.03);
  EXPECT_EQ(folder.run({"evaluate", "run", "test.csv", "--json"}).json()["intervals"]["doubtful"], 0);
}

TEST(DensityIntervals, WhereTheyCannotBeIsSaid) {
  const Folder folder;
  folder.write("swapped.csv", "x,y\n1..2,3\n5..2,1\n");
  expect_user_error(folder.run({"train", "density", "swapped.csv"}),
                    "swapped.csv:3: in column 'x': found the interval '5..2'");
  folder.write("capped.csv", "x\n1..\n0.5\n0.25\n-0.5\n0.75\n");
  expect_user_error(
      folder.run({"train", "density", "capped.csv", "--lower=-5", "--upper", "1", "--quiet"}),
      "row 0 (from 0) has the interval 1..inf in column 'x', nothing of which is below --upper");
  folder.write("angles.csv", "latitude,longitude\n10,20\n12..14,30\n5,6\n");
  for (const char* space : {"sphere", "torus"})
    expect_user_error(folder.run({"train", "density", "angles.csv", "--space", space}), "row 1 (from 0)");
  folder.write("counts.csv", "a,b\n1,2\n0..2,3\n4,0\n2,1\n");
  for (const char* space : {"counts", "categorical"})
    expect_user_error(folder.run({"train", "density", "counts.csv", "--space", space, "--quiet"}),
                      "has the interval 0..2 in column 'a', which has whole numbers");
  write_censored(folder, "data.csv", 200, 1);
  expect_user_error(folder.run({"train", "density", "data.csv", "--energy", "gaussian", "--quiet"}),
                    "--optimiser adam");
}

}  // namespace
}  // namespace selfnorm::cli
