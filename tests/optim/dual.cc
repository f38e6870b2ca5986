#include "selfnorm/optim/dual.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "selfnorm/base/error.h"

namespace selfnorm {
namespace {

int searches(DualSearch& dual, const std::function<double(double)>& rms) {
  for (int n = 1; n < 1000; ++n) {
    if (dual.update(rms(dual.alpha()))) return n;
  }
  return 1000;
}

TEST(Dual, EndsInTheBandForDecreasingCurves) {
  for (const double delta : {0.01, 0.1, 0.7}) {
    const std::vector<std::function<double(double)>> curves = {
        [](double a) { return 1 / (1 + a); }, [](double a) { return 2 / std::sqrt(1 + 30 * a); },
        [](double a) { return 0.9 * std::exp(-a); }};
    for (const auto& rms : curves) {
      DualSearch dual(delta, 0.01);
      EXPECT_LT(searches(dual, rms), 30);
      const double end = rms(dual.alpha());
      EXPECT_LE(end, delta);
      EXPECT_GE(end, 0.99 * delta);
      EXPECT_FALSE(dual.inactive());
    }
  }
}

TEST(Dual, ReportsAConstraintThatCostsNothing) {
  DualSearch dual(0.5, 0.01);
  searches(dual, [](double) { return 0.2; });
  EXPECT_TRUE(dual.inactive());
}

// rms measured with an error that depends on the past: the search still ends feasible.
TEST(Dual, EndsFeasibleWhenRmsIsNotAFunctionOfAlpha) {
  DualSearch dual(0.1, 1e-6);
  int calls = 0;
  searches(dual, [&](double a) { return (1 + 0.05 * (++calls % 3)) / (1 + a); });
  EXPECT_LE(1.0 / (1 + dual.alpha()), 0.1);
}

TEST(Dual, AnUnreachableConstraintIsAnError) {
  DualSearch dual(0.5, 0.01);
  EXPECT_THROW(searches(dual, [](double) { return 0.7; }), Error);
}

TEST(Dual, SurvivesACheckpointExactly) {
  const auto rms = [](double a) { return 1 / (1 + a); };
  DualSearch whole(0.1, 0.01), part(0.1, 0.01);
  for (int i = 0; i < 3; ++i) whole.update(rms(whole.alpha()));
  part.restore(whole.save());
  while (!whole.update(rms(whole.alpha()))) {
    part.update(rms(part.alpha()));
    EXPECT_EQ(whole.alpha(), part.alpha());
  }
}

}  // namespace
}  // namespace selfnorm
