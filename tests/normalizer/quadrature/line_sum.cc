#include "normalizer/quadrature/line_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace selfnorm {
namespace {

AutoregressiveEnergy moved_lines(uint32_t dimension) {
  AutoregressiveEnergy energy(
      {.dimension = dimension, .features = {6}, .tilt = {5}, .normalizer = {3}, .components = 3}, 1);
  RandomStream random(2);
  std::vector<float> x(100 * dimension);
  for (float& v : x) v = static_cast<float>(random.normal());
  energy.start_at({x.data(), 100, dimension});
  for (float& v : energy.parameters()) v += static_cast<float>(0.15 * random.normal());
  energy.parameters_changed();
  return energy;
}

constexpr double kGridStep = 0.04;
constexpr int kGridSide = 800;  // of a grid from -16 to 16
float grid_place(int k) { return static_cast<float>(-16 + kGridStep * (k + 0.5)); }

// p(x) on the grid of two columns; R(x) depends on the first alone.
std::vector<double> grid_of(const AutoregressiveEnergy& energy) {
  std::vector<float> first, all;
  for (int i = 0; i < kGridSide; ++i) {
    first.insert(first.end(), {grid_place(i), 0});
    for (int j = 0; j < kGridSide; ++j) all.insert(all.end(), {grid_place(i), grid_place(j)});
  }
  const LineSum sum = line_sum(energy, {first.data(), kGridSide, 2}, 1e-5);
  std::vector<double> p(kGridSide * kGridSide);
  energy.score({all.data(), p.size(), 2}, p);
  for (size_t k = 0; k < p.size(); ++k) p[k] = std::exp(p[k] - sum.value[k / kGridSide]);
  return p;
}

TEST(LineSum, TheMassOfTwoColumnsIsOne) {
  double mass = 0;
  for (const double p : grid_of(moved_lines(2))) mass += kGridStep * kGridStep * p;
  EXPECT_NEAR(mass, 1, 1e-4);
}

// Without them it is not.
TEST(LineSum, IsNotZero) {
  const AutoregressiveEnergy energy = moved_lines(2);
  const std::vector<float> x{0.1f, 0.2f, -0.5f, 0.4f};
  const LineSum sum = line_sum(energy, {x.data(), 2, 2}, 1e-4);
  for (size_t r = 0; r < 2; ++r) {
    EXPECT_GT(std::abs(sum.value[r]), 1e-3);
    EXPECT_LT(sum.error[r], 1e-4);
    EXPECT_GE(sum.bound[r], sum.value[r]);  // e^a - 1 >= a
  }
  EXPECT_NE(sum.value[0], sum.value[1]);
}

// Draws of both columns against the distribution functions of the grid, each below 1.63 / sqrt(n) in 99% of
// all seeds [Kolmogorov], and the mean of the product, which the order of the columns makes.
TEST(LineSum, DrawsHaveItsDistribution) {
  const AutoregressiveEnergy energy = moved_lines(2);
  const std::vector<double> p = grid_of(energy);
  constexpr size_t kLineDraws = 4000;
  std::vector<float> rows(2 * kLineDraws);
  sample_lines(energy, 3, rows);
  for (uint32_t column = 0; column < 2; ++column) {
    std::vector<double> cdf(kGridSide + 1);
    for (int k = 0; k < kGridSide; ++k) {
      double mass = 0;
      for (int j = 0; j < kGridSide; ++j)
        mass += p[static_cast<size_t>(column == 0 ? k * kGridSide + j : j * kGridSide + k)];
      cdf[static_cast<size_t>(k) + 1] = cdf[static_cast<size_t>(k)] + kGridStep * kGridStep * mass;
    }
    std::vector<double> drawn;
    for (size_t r = 0; r < kLineDraws; ++r) drawn.push_back(rows[2 * r + column]);
    std::ranges::sort(drawn);
    double worst = 0;
    for (int k = 0; k <= kGridSide; ++k) {
      const auto below = std::ranges::lower_bound(drawn, -16 + kGridStep * k) - drawn.begin();
      worst =
          std::max(worst, std::abs(static_cast<double>(below) / kLineDraws - cdf[static_cast<size_t>(k)]));
    }
    EXPECT_LT(worst, 1.63 / std::sqrt(double{kLineDraws})) << column;
  }
  double drawn = 0, truth = 0, square = 0;
  for (size_t r = 0; r < kLineDraws; ++r) drawn += double{rows[2 * r]} * double{rows[2 * r + 1]} / kLineDraws;
  for (int i = 0; i < kGridSide; ++i)
    for (int j = 0; j < kGridSide; ++j) {
      const double mass = kGridStep * kGridStep * p[static_cast<size_t>(i * kGridSide + j)];
      const double product = double{grid_place(i)} * double{grid_place(j)};
      truth += mass * product;
      square += mass * product * product;
    }
  EXPECT_NEAR(drawn, truth, 4 * std::sqrt((square - truth * truth) / kLineDraws));
}

TEST(LineSum, DrawsAreNamedByRowAndSeed) {
  const AutoregressiveEnergy energy = moved_lines(3);
  std::vector<float> few(3 * 10), many(3 * 40), other(3 * 10);
  sample_lines(energy, 3, few);
  sample_lines(energy, 3, many);
  sample_lines(energy, 4, other);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
  EXPECT_NE(few, other);
}

}  // namespace
}  // namespace selfnorm
