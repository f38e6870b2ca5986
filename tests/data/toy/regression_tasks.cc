#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "data/reader_checks.h"
#include "data/toy/generate.h"
#include "math/parallel.h"

namespace selfnorm {
namespace {

struct Integrals {
  double mass = 0, entropy = 0;
};

// Over y in [lower, upper] by the trapezoid rule.
Integrals integrals(const RegressionTask& task, const std::vector<double>& x, double lower, double upper) {
  constexpr int kPoints = 4000;
  const double step = (upper - lower) / kPoints;
  Integrals out;
  for (int i = 0; i <= kPoints; ++i) {
    const double log_p = task.log_density(x, lower + i * step);
    if (std::isinf(log_p)) continue;
    out.mass += step * std::exp(log_p);
    out.entropy -= step * std::exp(log_p) * log_p;
  }
  return out;
}

// theory.md 4: .075 and .25 are standard deviations.
TEST(RegressionTasks, EntropyOfTask1) {
  const auto task = make_regression_task("task1");
  constexpr int kInputs = 600;
  double entropy = 0;
  for (int i = 0; i < kInputs; ++i) {
    const double x = -3 + 6 * (i + 0.5) / kInputs;
    const Integrals at = integrals(*task, {x}, -2, 4);
    EXPECT_NEAR(at.mass, 1, 1e-9) << x;
    entropy += at.entropy / kInputs;
  }
  EXPECT_NEAR(entropy, -0.3266, 5e-5);
}

TEST(RegressionTasks, DensitiesOfMixedHaveMass1) {
  const auto task = make_regression_task("mixed");
  for (const std::vector<double>& x :
       {std::vector<double>{0.3, -0.1, 1.2, 0}, {-1, 1.9, NAN, 1}, {2, -1.9, 0.5, 2}, {0, 0, 0, NAN}})
    EXPECT_NEAR(integrals(*task, x, -8, 12).mass, 1, 1e-6);
}

// P(Y <= y | x) by quadrature is uniform.
TEST(RegressionTasks, DrawsFollowTheDensity) {
  for (const std::string& name : regression_task_names()) {
    const auto task = make_regression_task(name);
    constexpr int kDraws = 500, kBins = 8;
    RandomStream random(5);
    const size_t width = task->columns().columns.size();
    std::vector<double> row(width);
    std::vector<int> count(kBins);
    for (int i = 0; i < kDraws; ++i) {
      task->draw(random, row);
      const std::vector<double> x(row.begin(), row.end() - 1);
      const double below = integrals(*task, x, row.back() - 12, row.back()).mass;
      ++count[static_cast<size_t>(std::min(kBins - 1.0, below * kBins))];
    }
    double chi2 = 0;
    const double expected = double{kDraws} / kBins;
    for (const int n : count) chi2 += (n - expected) * (n - expected) / expected;
    EXPECT_LT(chi2, 24.3) << name;  // 7 degrees of freedom: 1 in 1000
  }
}

TEST(RegressionTasks, MeanOfLogDensity) {
  const auto task = make_regression_task("task1");
  const auto log_p = regression_log_density(*task, sample_regression(*task, 20000, 1));
  const double mean = std::accumulate(log_p.begin(), log_p.end(), 0.0) / 20000;
  EXPECT_NEAR(mean, 0.3266, 5 * 0.9 / std::sqrt(20000));
}

TEST(RegressionTasks, FramesAndFiles) {
  const auto task = make_regression_task("mixed");
  const Frame frame = sample_regression(*task, 1000, 3);
  uint64_t without_x3 = 0, without_group = 0;
  for (uint64_t r = 0; r < frame.rows; ++r) {
    without_x3 += std::isnan(frame.find("x3")->number[r]);
    without_group += frame.find("group")->level[r] == kMissingLevel;
  }
  EXPECT_NEAR(static_cast<double>(without_x3), 100, 4 * 9.5);
  EXPECT_NEAR(static_cast<double>(without_group), 50, 4 * 6.9);
  const Scratch scratch;
  write_frame(frame, scratch.path("a.csv"));
  const Frame back = read_frame(scratch.path("a.csv"));
  EXPECT_EQ(regression_log_density(*task, back), regression_log_density(*task, frame));
  const ThreadLimit one(1);
  EXPECT_EQ(sample_regression(*task, 1000, 3).find("y")->number, frame.find("y")->number);
  EXPECT_NE(sample_regression(*task, 1000, 4).find("y")->number, frame.find("y")->number);
}

TEST(RegressionTasks, Mistakes) {
  EXPECT_THROW(make_regression_task("task3"), Error);
  const auto task = make_regression_task("mixed");
  Frame frame = sample_regression(*task, 10, 3);
  frame.columns[3].levels = {"a", "b", "other"};
  frame.columns[3].level.assign(10, 2);
  EXPECT_THROW(regression_log_density(*task, frame), DataError);
  frame.columns[3].name = "groups";
  EXPECT_THROW(regression_log_density(*task, frame), DataError);
  EXPECT_EQ(make_regression_task("task1")->log_density(std::vector<double>{1}, -1), -INFINITY);
}

}  // namespace
}  // namespace selfnorm
