#include "sampler/chain_draws.h"

#include <gtest/gtest.h>

#include <cmath>

#include "math/parallel.h"
#include "math/random.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// x_t = phi x_{t-1} + sqrt(1 - phi^2) z_t in every chain, started in its stationary law, plus shift x chain.
ChainDraws autoregression(double phi, double shift, uint64_t chains, uint64_t draws) {
  ChainDraws out{chains, draws, 1, std::vector<float>(chains * draws), 0, 0, 0};
  for (uint64_t c = 0; c < chains; ++c) {
    RandomStream random(17, c);
    double x = random.normal();
    for (uint64_t t = 0; t < draws; ++t) {
      out.rows[t * chains + c] = static_cast<float>(x + shift * static_cast<double>(c));
      x = phi * x + std::sqrt(1 - phi * phi) * random.normal();
    }
  }
  return out;
}

TEST(ChainDiagnostics, IndependentDrawsAreAllEffective) {
  const ChainDiagnostics d = chain_diagnostics(autoregression(0, 0, 8, 2000));
  EXPECT_NEAR(d.r_hat[0], 1, 0.003);
  EXPECT_NEAR(d.effective[0], 16'000, 1000);
}

// ESS = N (1 - phi) / (1 + phi); antithetic chains are worth more than their number.
TEST(ChainDiagnostics, AutoregressionHasItsClosedForm) {
  for (const double phi : {0.9, 0.5, -0.5}) {
    const double truth = 8 * 4000 * (1 - phi) / (1 + phi);
    EXPECT_NEAR(chain_diagnostics(autoregression(phi, 0, 8, 4000)).effective[0], truth, 0.12 * truth) << phi;
  }
}

TEST(ChainDiagnostics, ShiftedAndDriftingChainsDisagree) {
  EXPECT_GT(chain_diagnostics(autoregression(0, 1, 4, 500)).worst_r_hat(), 1.1);
  EXPECT_LT(chain_diagnostics(autoregression(0, 1, 4, 500)).least_effective(), 40);
  ChainDraws drift = autoregression(0, 0, 1, 1000);
  for (size_t t = 0; t < 1000; ++t) drift.rows[t] += static_cast<float>(t) / 250;
  EXPECT_GT(chain_diagnostics(drift).worst_r_hat(), 1.1);
}

TEST(ChainDiagnostics, ByCoordinateForAnyNumberOfThreads) {
  ChainDraws draws = autoregression(0.3, 0, 4, 300);
  draws.dimension = 2;
  draws.draws = 150;
  const ThreadLimit limit(2);
  const ChainDiagnostics d = chain_diagnostics(draws);
  ASSERT_EQ(d.r_hat.size(), 2u);
  EXPECT_EQ(d.worst_r_hat(), std::max(d.r_hat[0], d.r_hat[1]));
  EXPECT_EQ(d.least_effective(), std::min(d.effective[0], d.effective[1]));
}

TEST(ChainDiagnostics, ConstantAndStuckCoordinates) {
  ChainDraws same{3, 10, 1, std::vector<float>(30, 4), 0, 0, 0};
  EXPECT_EQ(chain_diagnostics(same).r_hat[0], 1);
  EXPECT_EQ(chain_diagnostics(same).effective[0], 30);
  for (size_t i = 0; i < 30; ++i) same.rows[i] = static_cast<float>(i % 3);
  EXPECT_TRUE(std::isinf(chain_diagnostics(same).r_hat[0]));
  EXPECT_LT(chain_diagnostics(same).effective[0], 10);
}

TEST(ChainDiagnostics, TooFewDraws) {
  EXPECT_THROW(chain_diagnostics({4, 3, 1, std::vector<float>(12), 0, 0, 0}), Error);
  EXPECT_THROW(chain_diagnostics({0, 10, 1, {}, 0, 0, 0}), Error);
}

}  // namespace
}  // namespace selfnorm
