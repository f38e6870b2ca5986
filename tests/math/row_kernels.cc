#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "math/crf_kernels.h"
#include "math/kernel_test.h"

namespace selfnorm {
namespace {

using test::kWidths;
template <class Real>
class RowKernels : public test::KernelTest<Real> {};
TYPED_TEST_SUITE(RowKernels, test::Reals);

TYPED_TEST(RowKernels, RowsAreAddedAndNothingElseIsTouched) {
  using Real = TypeParam;
  for (const size_t width : kWidths) {
    const std::vector<Real> matrix = this->normals(40 * width);
    for (const bool has_values : {false, true}) {
      std::vector<uint32_t> row;
      std::vector<float> value;
      for (int i = 0; i < 25; ++i) {
        row.push_back(static_cast<uint32_t>(this->random_.below(40)));
        value.push_back(static_cast<float>(this->random_.normal()));
      }
      std::vector<Real> out = this->normals(width + 1), start = out;
      add_rows<Real>({row.data(), has_values ? value.data() : nullptr, 20, 25}, matrix.data(), width,
                     out.data());
      for (size_t k = 0; k < width; ++k) {
        double sum = static_cast<double>(start[k]);
        for (size_t i = 0; i < 20; ++i)
          sum += (has_values ? static_cast<double>(value[i]) : 1) *
                 static_cast<double>(matrix[row[i] * width + k]);
        EXPECT_NEAR(static_cast<double>(out[k]), sum, TestFixture::kTolerance);
      }
      EXPECT_EQ(out[width], start[width]);
    }
  }
}

TYPED_TEST(RowKernels, FiniteIsSeenAtEveryPlace) {
  using Real = TypeParam;
  for (const size_t n : {1u, 5u, 16u, 37u}) {
    std::vector<Real> x = this->normals(n);
    x[0] = std::numeric_limits<Real>::max();
    EXPECT_TRUE(all_finite(x.data(), n));
    for (size_t i = 0; i < n; ++i) {
      for (const Real bad : {std::numeric_limits<Real>::infinity(), -std::numeric_limits<Real>::infinity(),
                             std::numeric_limits<Real>::quiet_NaN()}) {
        std::vector<Real> y = x;
        y[i] = bad;
        EXPECT_FALSE(all_finite(y.data(), n)) << i;
      }
    }
  }
  EXPECT_TRUE(all_finite<Real>(nullptr, 0));
}

}  // namespace
}  // namespace selfnorm
