#include <gtest/gtest.h>

#include "normalizer/sampling/importance_log_z.h"
#include "small_energies.h"

namespace selfnorm {
namespace {

TEST(WeightedDraws, BlocksCanBeDrawnAgainAndDiffer) {
  const SmallEnergy energy = quadratic({0, 1}, {1, 2});
  const SmallNormal q(2, 0, 1.5);
  const WeightedDraws draws(energy, q, 40'000, 9);
  ASSERT_EQ(draws.blocks(), (40'000 + draws.block_rows() - 1) / draws.block_rows());
  ASSERT_GE(draws.blocks(), 2u);
  WeightedDraws::Block first, again, second;
  draws.draw(0, first);
  draws.draw(1, second);
  draws.points(0, again);
  EXPECT_EQ(first.rows, again.rows);
  EXPECT_NE(first.rows, second.rows);
  std::vector<double> s(draws.block_rows()), log_q(draws.block_rows());
  energy.score({first.rows.data(), draws.block_rows(), 2}, s);
  q.log_prob({first.rows.data(), draws.block_rows(), 2}, log_q);
  for (size_t i = 0; i < 100; ++i) EXPECT_NEAR(first.log_weight[i], s[i] - log_q[i], 1e-12);
  draws.draw(draws.blocks() - 1, second);
  EXPECT_EQ(second.log_weight.size(), 40'000 - (draws.blocks() - 1) * draws.block_rows());
}

}  // namespace
}  // namespace selfnorm
