#include <gtest/gtest.h>

#include "sampler/hmc.h"

namespace selfnorm {
namespace {

TEST(CoordinateScales, MeansAndDeviationsOfPointsInPieces) {
  const std::vector<float> rows = {1e6f, 1, 1e6f + 2, 1, 1e6f + 4, 1};
  CoordinateScales scales(2);
  scales.add({rows.data(), 1, 2});
  scales.add({rows.data() + 2, 2, 2});
  EXPECT_DOUBLE_EQ(scales.means()[0], 1e6 + 2);
  EXPECT_DOUBLE_EQ(scales.scales()[0], 2);
  EXPECT_DOUBLE_EQ(scales.scales()[1], 2e-6);  // constant: small, never 0
}

TEST(CoordinateScales, OnePointSaysNothing) {
  const float x = 3;
  CoordinateScales scales(1);
  scales.add({&x, 1, 1});
  EXPECT_EQ(scales.scales()[0], 1);
}

}  // namespace
}  // namespace selfnorm
