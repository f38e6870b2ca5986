#include <gtest/gtest.h>

#include <cmath>

#include "proposal/proposal.h"

namespace selfnorm {
namespace {

TEST(LogUniform, RanksByCountAndEqualsByIndex) {
  const std::vector<uint64_t> counts{5, 9, 5, 0};
  const auto q = make_proposal("log-uniform", counts, 1);
  const std::vector<double> rank{1, 0, 2, 3};
  for (uint32_t k = 0; k < 4; ++k) {
    EXPECT_NEAR(q->log_prob(k), std::log(std::log((rank[k] + 2) / (rank[k] + 1)) / std::log(5.0)), 1e-14);
  }
}

}  // namespace
}  // namespace selfnorm
