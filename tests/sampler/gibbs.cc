#include "sampler/gibbs.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "math/parallel.h"
#include "small_energies.h"

namespace selfnorm {
namespace {

// Frequencies of all points against exp(s) / Z: chi^2 of iid draws has cells - 1 degrees of freedom, mean
// cells - 1, sd sqrt(2 (cells - 1)); chains are thinned until draws are nearly independent.
TEST(Gibbs, FrequenciesOfBinaryAndTernaryPoints) {
  for (const uint32_t levels : {2u, 3u}) {
    const SmallEnergy energy = cycle(3, levels, -0.4, 0.3);
    const std::vector<float> start(200 * 3);
    const ChainDraws draws = gibbs(energy, {start.data(), 200, 3}, 100, {20, 3}, 6);
    std::map<std::vector<float>, double> count;
    for (uint64_t i = 0; i < draws.points().rows; ++i) {
      const auto x = draws.points().row(i);
      ++count[{x.begin(), x.end()}];
    }
    LogSumExp z;
    const auto score = [&](std::span<const float> x) {
      double s = 0;
      energy.score({x.data(), 1, 3}, {&s, 1});
      return s;
    };
    for_each_point(energy.support(), [&](std::span<const float> x) { z.add(score(x)); });
    double chi = 0, cells = 0;
    for_each_point(energy.support(), [&](std::span<const float> x) {
      const double expected = 20'000 * std::exp(score(x) - z.value());
      chi += std::pow(count[{x.begin(), x.end()}] - expected, 2) / expected;
      ++cells;
    });
    EXPECT_LT(chi, cells - 1 + 5 * std::sqrt(2 * cells)) << levels;
    EXPECT_GT(draws.acceptance, 0.1);
  }
}

TEST(Gibbs, ACoordinateOfOneLevelStays) {
  Support support = Support::binary(2);
  support.levels[0] = 1;
  const SmallEnergy energy(
      2, support, [](std::span<const float> x, std::span<double>) { return 50 * static_cast<double>(x[1]); });
  std::vector<float> rows = {0, 0};
  gibbs_sweeps(energy, 1, 3, rows);
  EXPECT_EQ(rows, (std::vector<float>{0, 1}));
}

TEST(Gibbs, SweepsInPlaceAreThoseOfTheChains) {
  const SmallEnergy energy = cycle(5, 2, 0.1, -0.5);
  std::vector<float> rows(5 * 300);
  const ChainDraws draws = gibbs(energy, {rows.data(), 300, 5}, 1, {2, 1}, 11);
  {
    const ThreadLimit limit(1);
    gibbs_sweeps(energy, 3, 11, rows);
  }
  EXPECT_EQ(rows, draws.rows);
}

TEST(Gibbs, ImpossibleInputs) {
  const SmallEnergy energy = cycle(2, 2, 0, 0);
  std::vector<float> good = {0, 1}, bad = {0, 2}, fraction = {0.5f, 0};
  EXPECT_THROW(gibbs(energy, {bad.data(), 1, 2}, 1, {1, 1}, 0), Error);
  EXPECT_THROW(gibbs(energy, {fraction.data(), 1, 2}, 1, {1, 1}, 0), Error);
  EXPECT_THROW(gibbs(energy, {good.data(), 2, 1}, 1, {1, 1}, 0), Error);
  EXPECT_THROW(gibbs(energy, {good.data(), 1, 2}, 1, {1, 0}, 0), Error);
  EXPECT_THROW(gibbs_sweeps(quadratic({0, 0}, {1, 1}), 1, 0, good), Error);
  const SmallEnergy broken(2, Support::binary(2), [](std::span<const float>, std::span<double>) {
    return std::numeric_limits<double>::quiet_NaN();
  });
  EXPECT_THROW(gibbs_sweeps(broken, 1, 0, good), Error);
}

}  // namespace
}  // namespace selfnorm
