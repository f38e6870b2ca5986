#include "proposal/density/level_mixture.h"

#include <gtest/gtest.h>

#include <cmath>

#include "math/parallel.h"
#include "math/random.h"

namespace selfnorm {
namespace {

TEST(LevelMixture, SumsToOneOverAllPoints) {
  const std::vector<float> rows{0, 0, 2, 1, 1, 0, 0, 1, 1, 1, 0, 2};
  const LevelMixture mixture = fit_level_mixture({rows.data(), 4, 3}, {2, 2, 3}, {.components = 2});
  double sum = 0, log_q = 0;
  for (int a = 0; a < 2; ++a)
    for (int b = 0; b < 2; ++b)
      for (int c = 0; c < 3; ++c) {
        const std::vector<float> x{float(a), float(b), float(c)};
        mixture.log_prob({x.data(), 1, 3}, {&log_q, 1});
        sum += std::exp(log_q);
      }
  EXPECT_NEAR(sum, 1, 1e-12);
  for (const std::vector<float>& x : std::vector<std::vector<float>>{{0, 0, 3}, {0.5, 0, 0}, {-1, 0, 0}}) {
    mixture.log_prob({x.data(), 1, 3}, {&log_q, 1});
    EXPECT_EQ(log_q, -INFINITY);
  }
}

// Rows are all 0 or all 1, each bit flipped with probability 0.1; the entropy of one is known.
TEST(LevelMixture, FindsTwoLumpsForAnyNumberOfThreads) {
  constexpr uint32_t d = 10;
  constexpr uint64_t n = 2000;
  std::vector<float> rows;
  RandomStream random(1);
  for (uint64_t i = 0; i < n; ++i) {
    const bool side = random.uniform() < 0.3;
    for (uint32_t j = 0; j < d; ++j) rows.push_back(side != (random.uniform() < 0.1) ? 1.0f : 0.0f);
  }
  const Points points{rows.data(), n, d};
  const std::vector<uint32_t> levels(d, 2);
  std::vector<double> log_q(n), again(n);
  const LevelMixture mixture = fit_level_mixture(points, levels, {.components = 2});
  mixture.log_prob(points, log_q);
  double nll = 0;
  for (const double l : log_q) nll -= l / n;
  const double entropy =
      -(0.3 * std::log(0.3) + 0.7 * std::log(0.7)) - d * (0.1 * std::log(0.1) + 0.9 * std::log(0.9));
  EXPECT_NEAR(nll, entropy, 0.1);
  EXPECT_NEAR(std::exp(std::min(mixture.log_weight()[0], mixture.log_weight()[1])), 0.3, 0.03);
  const ThreadLimit limit(1);
  fit_level_mixture(points, levels, {.components = 2}).log_prob(points, again);
  EXPECT_EQ(log_q, again);
}

}  // namespace
}  // namespace selfnorm
