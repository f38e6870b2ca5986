// Through the emulated module (tests/gpu/emulated): the same fit as the CPU's.
#include "audit/device_scatter.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "random_head.h"

namespace selfnorm {
namespace {

TEST(DeviceScatter, FitsAreThoseOfTheCpu) {
  const Dataset data = random_dataset({.rows = 5000, .features = 4, .classes = 3}, 3);
  std::vector<double> y;
  for (uint64_t i = 0; i < data.examples(); ++i) {
    const auto x = data.features.dense.row(i);
    y.push_back(100 + 2.0 * static_cast<double>(x[0]) - static_cast<double>(x[3] * x[1]));
  }
  choose_device("cpu");
  LeastSquares here(4);
  here.add(data.features, y);
  setenv("SELFNORM_CUDA_MODULE", SELFNORM_EMULATED_CUDA, 1);
  choose_device("cuda");
  LeastSquares there(4);
  there.add(data.features, y);
  EXPECT_EQ(there.rows(), 5000u);
  for (const bool for_prediction : {false, true}) {
    const LinearFit a = for_prediction ? here.fit_for_prediction() : here.fit();
    const LinearFit b = for_prediction ? there.fit_for_prediction() : there.fit();
    EXPECT_NEAR(a.intercept, b.intercept, 1e-9);
    for (size_t j = 0; j < 4; ++j) EXPECT_NEAR(a.slope[j], b.slope[j], 1e-10);
    EXPECT_NEAR(a.variance, b.variance, 1e-9);
    EXPECT_NEAR(a.residual_variance, b.residual_variance, 1e-9);
  }
  choose_device("cpu");
  unsetenv("SELFNORM_CUDA_MODULE");
}

}  // namespace
}  // namespace selfnorm
