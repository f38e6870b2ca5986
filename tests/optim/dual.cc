#include "optim/dual.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

namespace selfnorm {
namespace {

// Updates until the search is over; the last value of rms and what it ended with.
struct Outcome {
  int updates = 0;
  DualStep end = DualStep::again;
  double rms = 0;
};

Outcome search(DualSearch& dual, const std::function<double(double)>& rms) {
  Outcome out;
  while (out.end == DualStep::again && out.updates < 1000) {
    ++out.updates;
    out.rms = rms(dual.alpha());
    out.end = dual.update(out.rms);
  }
  return out;
}

TEST(Dual, EndsInTheBandForDecreasingCurves) {
  for (const double delta : {0.001, 0.01, 0.1, 0.7}) {
    const std::vector<std::function<double(double)>> curves = {
        [](double a) { return 1 / (1 + a); }, [](double a) { return 2 / std::sqrt(1 + 30 * a); },
        [](double a) { return 0.9 * std::exp(-a); }};
    for (const auto& rms : curves) {
      DualSearch dual(delta, 0.01, 60);
      const Outcome out = search(dual, rms);
      EXPECT_EQ(out.end, DualStep::met);
      EXPECT_LE(out.rms, delta);
      EXPECT_GE(out.rms, 0.99 * delta);
      EXPECT_LT(out.updates, 30);
    }
  }
}

TEST(Dual, ReportsAConstraintThatCostsNothingOnlyAtAlphaZero) {
  DualSearch dual(0.5, 0.01, 60);
  EXPECT_EQ(search(dual, [](double) { return 0.2; }).end, DualStep::inactive);
  EXPECT_EQ(dual.alpha(), 0);
  DualSearch jump(0.5, 0.01, 60);
  EXPECT_EQ(search(jump, [](double a) { return a > 0 ? 0.2 : 3; }).end, DualStep::bracketed);
}

TEST(Dual, EndsWhenRmsIsNotAFunctionOfAlphaOrCannotBeReached) {
  DualSearch noisy(0.1, 1e-6, 60);
  int calls = 0;
  const Outcome out = search(noisy, [&](double a) { return (1 + 0.05 * (++calls % 3)) / (1 + a); });
  EXPECT_EQ(out.end, DualStep::bracketed);
  EXPECT_LE(out.updates, 60);
  DualSearch unreachable(0.5, 0.01, 60);
  EXPECT_EQ(search(unreachable, [](double) { return 0.7; }).end, DualStep::bracketed);
}

TEST(Dual, SurvivesACheckpointExactly) {
  const auto rms = [](double a) { return 2 / std::sqrt(1 + 30 * a); };
  DualSearch whole(0.001, 0.01, 60), part(0.1, 0.1, 1);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(whole.update(rms(whole.alpha())), DualStep::again);
  part = DualSearch(0.001, 0.1, 1);
  part.restore(whole.save());
  DualStep step = DualStep::again;
  while (step == DualStep::again) {
    step = whole.update(rms(whole.alpha()));
    EXPECT_EQ(part.update(rms(part.alpha())), step);
    EXPECT_EQ(whole.alpha(), part.alpha());
  }
}

}  // namespace
}  // namespace selfnorm
