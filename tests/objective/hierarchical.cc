#include "objective/hierarchical.h"

#include <gtest/gtest.h>

#include "gradient_check.h"

namespace selfnorm {
namespace {

TEST(Hierarchical, ADecisionIsALogProbability) {
  for (const double s : {-30.0, -1.5, 0.0, 0.25, 4.0}) {
    const DecisionTerms left = decision(s, 0), right = decision(s, 1);
    EXPECT_NEAR(std::exp(-left.likelihood) + std::exp(-right.likelihood), 1, 1e-14);
    EXPECT_NEAR(left.likelihood - right.likelihood, s, 1e-13);  // the log-odds of the right child
    for (const uint32_t side : {0u, 1u}) {
      expect_gradient([&](const std::vector<double>& x) { return decision(x[0], side).likelihood; }, {s},
                      {decision(s, side).d_score}, 1e-5, 1e-8);
    }
  }
}

TEST(Hierarchical, FarScoresStayFinite) {
  EXPECT_EQ(decision(1e6, 1).likelihood, 0);
  EXPECT_EQ(decision(1e6, 0).likelihood, 1e6);
  EXPECT_EQ(decision(-1e6, 1).d_score, -1);
  EXPECT_EQ(decision(-1e6, 0).d_score, 0);
}

}  // namespace
}  // namespace selfnorm
