#include <gtest/gtest.h>

#include <cmath>

#include "optim/lbfgs.h"

namespace selfnorm {
namespace {

// phi(t) = (t - m)^4 + (t - m)^2 started at 0 with any first step: the strong Wolfe conditions hold at the
// result.
TEST(LineSearch, SatisfiesTheStrongWolfeConditions) {
  for (const double m : {1e-3, 1.0, 50.0}) {
    for (const double first : {1e-4, 1.0, 1e4}) {
      const auto phi = [m](double t) {
        const double e = t - m;
        return LinePoint{t, e * e * e * e + e * e, 4 * e * e * e + 2 * e};
      };
      const LinePoint start = phi(0);
      const LineResult r = strong_wolfe(phi, start, first, 0);
      ASSERT_TRUE(r.success) << m << " " << first;
      EXPECT_LE(r.point.value, start.value + 1e-4 * r.point.step * start.slope);
      EXPECT_LE(std::abs(r.point.slope), 0.9 * std::abs(start.slope));
    }
  }
}

TEST(LineSearch, BacksAwayFromNonFiniteValues) {
  const auto phi = [](double t) {
    return t > 0.01 ? LinePoint{t, std::nan(""), std::nan("")} : LinePoint{t, -t, -1};
  };
  const LineResult r = strong_wolfe(phi, {0, 0, -1}, 1, 0);
  ASSERT_TRUE(r.success);
  EXPECT_LE(r.point.step, 0.01);
}

TEST(LineSearch, FailsOnAnAscentDirectionInDisguise) {
  const auto phi = [](double t) { return LinePoint{t, t, -1}; };
  EXPECT_FALSE(strong_wolfe(phi, {0, 0, -1}, 1, 0).success);
}

}  // namespace
}  // namespace selfnorm
