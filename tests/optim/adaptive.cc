#include "optim/adaptive.h"

#include <gtest/gtest.h>

#include <cmath>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

TEST(Adaptive, FirstStepsAreTheFormulas) {
  const std::vector<double> g{0.5, -2};
  std::vector<double> x{1, 1};
  Adaptive<double> adagrad("adagrad", 2, 0.01);
  adagrad.begin_step();
  adagrad.update(x, 0, g, 0.1, 0);
  EXPECT_NEAR(x[0], 1 - 0.1 * 0.5 / std::sqrt(0.01 + 0.25), 1e-7);
  EXPECT_NEAR(x[1], 1 + 0.1 * 2 / std::sqrt(0.01 + 4), 1e-7);
  x = {1, 1};
  Adaptive<double> adam("adam", 2, 0);
  adam.begin_step();
  adam.update(x, 0, g, 0.1, 0);
  EXPECT_NEAR(x[0], 0.9, 1e-6);  // bias-corrected: the first step is rate * sign
  EXPECT_NEAR(x[1], 1.1, 1e-6);
}

// A gradient of 1 moves by the rate in every step of Adam from its first; so it does when others came before.
TEST(Adaptive, ALateStartIsAStart) {
  constexpr uint64_t kBefore = 300;
  std::vector<double> x{0}, at_full_rate{0};
  Adaptive<double> own("adam", 1, 0), uncorrected("adam", 1, 0);
  for (uint64_t t = 1; t <= kBefore; ++t) own.begin_step(), uncorrected.begin_step();
  for (uint64_t k = 1; k <= 200; ++k) {
    const std::vector<double> g{1};
    own.begin_step();
    own.update(x, 0, g, 0.1 * late_start_factor(kBefore + k, kBefore), 0);
    uncorrected.begin_step();
    uncorrected.update(at_full_rate, 0, g, 0.1, 0);
    EXPECT_NEAR(x[0], -0.1 * static_cast<double>(k), 1e-5);
  }
  EXPECT_LT(at_full_rate[0], 2 * x[0]);
  EXPECT_DOUBLE_EQ(late_start_factor(7, 0), 1);
}

TEST(Adaptive, BothReachTheMinimumOfAQuadratic) {
  for (const char* name : {"adagrad", "adam"}) {
    std::vector<double> x{5, -3};
    Adaptive<double> optimiser(name, 2, 1e-4);
    for (int t = 0; t < 5000; ++t) {
      const std::vector<double> g{x[0] - 1, 10 * (x[1] - 2)};
      optimiser.begin_step();
      optimiser.update(x, 0, g, 0.3 * (1 - t / 5000.0), 0);
    }
    EXPECT_NEAR(x[0], 1, 1e-3) << name;
    EXPECT_NEAR(x[1], 2, 1e-3) << name;
  }
}

TEST(Adaptive, UpdatesOnlyTheRowsItIsGiven) {
  std::vector<float> x{1, 2, 3, 4};
  Adaptive<float> optimiser("adam", 4, 0);
  optimiser.begin_step();
  const std::vector<float> g{1, 1};
  optimiser.update(x, 2, g, 0.1, 0);
  EXPECT_EQ(x[0], 1);
  EXPECT_EQ(x[1], 2);
  EXPECT_LT(x[2], 3);
}

// A cell takes the same step as a row does, with its own l1, and the others none.
TEST(Adaptive, CellsAreRowsWithGaps) {
  for (const char* name : {"adagrad", "adam"}) {
    std::vector<double> row{1, -2, 0.5}, cells{9, 1, 9, -2, 9, 0.5};
    Adaptive<double> by_row(name, 3, 0.1), by_cell(name, 6, 0.1);
    const std::vector<uint32_t> column{0, 2, 4};
    for (int t = 0; t < 3; ++t) {
      const std::vector<double> g{0.3, -0.1, 2.0 * t}, l1{0.2, 0.2, 0.2};
      by_row.begin_step();
      by_cell.begin_step();
      by_row.update(row, 0, g, 0.1, 0.2);
      by_cell.update_cells(cells, 1, column, g, 0.1, l1);
    }
    EXPECT_EQ(cells, (std::vector<double>{9, row[0], 9, row[1], 9, row[2]})) << name;
  }
}

TEST(Adaptive, ProximalStepMakesExactZeros) {
  std::vector<double> x{0.5};
  Adaptive<double> optimiser("adagrad", 1, 1e-4);
  for (int t = 0; t < 2000; ++t) {
    const std::vector<double> g{x[0] - 0.3};
    optimiser.begin_step();
    optimiser.update(x, 0, g, 0.1, 1.0);
  }
  EXPECT_EQ(x[0], 0);
}

TEST(Adaptive, UnknownNameIsAnError) { EXPECT_THROW(Adaptive<double>("sgd", 1, 0), Error); }

}  // namespace
}  // namespace selfnorm
