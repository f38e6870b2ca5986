// What the tests of kernels over rows share: both precisions, widths around every vector length.
#pragma once

#include <gtest/gtest.h>

#include <type_traits>
#include <vector>

#include "math/random.h"

namespace selfnorm::test {

template <class Real>
class KernelTest : public testing::Test {
 protected:
  static constexpr double kTolerance = std::is_same_v<Real, float> ? 2e-5 : 1e-12;
  std::vector<Real> normals(size_t n) {
    std::vector<Real> x(n);
    for (Real& v : x) v = static_cast<Real>(random_.normal());
    return x;
  }
  RandomStream random_{3};
};
using Reals = testing::Types<float, double>;

inline const std::vector<size_t> kWidths = {1, 2, 7, 8, 15, 16, 17, 31, 33, 49, 64, 65, 100, 300};

}  // namespace selfnorm::test
