#include <gtest/gtest.h>

#include <cmath>

#include "sampler/hmc.h"

namespace selfnorm {
namespace {

// An acceptance of exp(-step): 0.8 at step = log 1.25, from far above and far below.
TEST(StepAdaptation, FindsTheStepOfTheWantedAcceptance) {
  for (const double first : {1e-3, 10.0}) {
    StepAdaptation adaptation(first, 0.8);
    EXPECT_EQ(adaptation.step(), first);
    for (int t = 0; t < 500; ++t) adaptation.observe(std::exp(-adaptation.step()));
    EXPECT_NEAR(adaptation.average(), std::log(1.25), 0.02);
  }
}

}  // namespace
}  // namespace selfnorm
