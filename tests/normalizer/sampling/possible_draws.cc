#include <gtest/gtest.h>

#include "math/parallel.h"
#include "normalizer/sampling/importance_log_z.h"
#include "small_energies.h"

namespace selfnorm {
namespace {

// N(0, 1) restricted to [0, 1]: q(S) = 0.341345, mean (phi(0) - phi(1)) / q(S) = 0.459862.
TEST(PossibleDraws, ATruncatedNormal) {
  const SmallEnergy energy = quadratic({3}, {1}, 0, Support::box({0}, {1}));
  const PossibleDraws out = possible_draws(energy, SmallNormal(1, 0, 1), 5000, 2);
  ASSERT_EQ(out.rows.size(), 5000u);
  double mean = 0;
  for (const float x : out.rows) {
    EXPECT_TRUE(x >= 0 && x <= 1);
    mean += static_cast<double>(x) / 5000;
  }
  EXPECT_NEAR(mean, 0.459862, 0.015);
  EXPECT_LE(out.share.error(), 0.01);
  EXPECT_NEAR(out.share.log_mean(), std::log(0.341345), 4 * out.share.error());
}

TEST(PossibleDraws, AllAreInside) {
  const PossibleDraws out = possible_draws(quadratic({3, 0}, {1, 1}), SmallNormal(2, 0, 1), 10, 2);
  EXPECT_EQ(out.rows.size(), 20u);
  EXPECT_NEAR(out.share.log_mean(), 0, 1e-12);
  EXPECT_NEAR(out.share.error(), 0, 1e-8);
}

TEST(PossibleDraws, TheSameBitsForAnyNumberOfThreads) {
  const SmallEnergy energy = quadratic({0}, {1}, 0, Support::box({0}, {1}));
  const auto run = [&](int threads) {
    const ThreadLimit limit(threads);
    return possible_draws(energy, SmallNormal(1, 0, 1), 300, 2).rows;
  };
  EXPECT_EQ(run(1), run(3));
}

TEST(PossibleDraws, TooFewAreInside) {
  const SmallNormal q(1, 0, 1);
  EXPECT_THROW(possible_draws(quadratic({0}, {1}, 0, Support::box({4}, {5})), q, 300, 0), Error);
  EXPECT_THROW(possible_draws(quadratic({0}, {1}), q, 0, 0), Error);
}

}  // namespace
}  // namespace selfnorm
