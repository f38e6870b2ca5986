#include "math/crf_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "math/kernel_test.h"

namespace selfnorm {
namespace {

using test::kWidths;
template <class Real>
class CrfKernels : public test::KernelTest<Real> {};
TYPED_TEST_SUITE(CrfKernels, test::Reals);

TYPED_TEST(CrfKernels, ProductsAgreeWithPlainLoops) {
  using Real = TypeParam;
  for (const size_t n : kWidths) {
    const LabelSpace space{n, padded_width<Real>(n)};
    ASSERT_GE(space.stride, n);
    const auto padded = [&](size_t rows) {
      std::vector<Real> x = this->normals(rows * space.stride);
      for (size_t i = 0; i < x.size(); ++i) x[i] = i % space.stride < n ? std::abs(x[i]) : 0;
      return x;
    };
    const std::vector<Real> x = padded(1), f = padded(1), matrix = padded(n);
    std::vector<Real> out(space.stride), plain(space.stride);
    const SumLeast found = scaled_product(space, x.data(), matrix.data(), f.data(), out.data());
    scaled_product<Real>(space, x.data(), matrix.data(), nullptr, plain.data());
    double total = 0, least = std::numeric_limits<double>::infinity();
    for (size_t k = 0; k < n; ++k) {
      double sum = 0;
      for (size_t j = 0; j < n; ++j)
        sum += static_cast<double>(x[j]) * static_cast<double>(matrix[j * space.stride + k]);
      EXPECT_NEAR(static_cast<double>(plain[k]), sum, TestFixture::kTolerance * (1 + sum));
      sum *= static_cast<double>(f[k]);
      EXPECT_NEAR(static_cast<double>(out[k]), sum, TestFixture::kTolerance * (1 + sum));
      total += sum;
      least = std::min(least, sum);
    }
    EXPECT_NEAR(found.sum, total, TestFixture::kTolerance * (1 + total));
    EXPECT_NEAR(found.least, least, TestFixture::kTolerance * (1 + least));

    std::vector<uint32_t> row;
    for (uint32_t j = 0; j < n; j += 3) row.push_back(j);
    for (const size_t count : {size_t{0}, row.size()}) {
      const ListedRows<Real> rows{row.data(), count, static_cast<Real>(0.25), matrix.data()};
      const double listed = listed_product(space, x.data(), matrix.data(), rows, f.data(), out.data());
      double all = 0;
      for (size_t k = 0; k < n; ++k) {
        double sum = 0.25 * static_cast<double>(matrix[k]);
        for (size_t i = 0; i < count; ++i)
          sum += static_cast<double>(x[row[i]]) * static_cast<double>(matrix[row[i] * space.stride + k]);
        sum *= static_cast<double>(f[k]);
        EXPECT_NEAR(static_cast<double>(out[k]), sum, TestFixture::kTolerance * (1 + sum));
        all += sum;
      }
      EXPECT_NEAR(listed, all, TestFixture::kTolerance * (1 + all));
    }

    for (const size_t count : {0u, 1u, 4u, 7u, 8u, 21u}) {
      const std::vector<Real> left = padded(count), right = padded(count);
      std::vector<Real> outer = matrix;
      add_outer(space, count, left.data(), right.data(), outer.data());
      for (size_t at = 0; at < outer.size(); ++at) {
        double cell = static_cast<double>(matrix[at]);
        for (size_t i = 0; i < count; ++i)
          cell += static_cast<double>(left[i * space.stride + at / space.stride]) *
                  static_cast<double>(right[i * space.stride + at % space.stride]);
        ASSERT_NEAR(static_cast<double>(outer[at]), cell, TestFixture::kTolerance);
      }
    }
    double products = 0;
    const double sum = multiply_rows(space, 0.5, x.data(), f.data(), out.data());
    for (size_t k = 0; k < n; ++k) {
      const double product = 0.5 * static_cast<double>(x[k]) * static_cast<double>(f[k]);
      EXPECT_NEAR(static_cast<double>(out[k]), product, TestFixture::kTolerance);
      products += product;
    }
    EXPECT_NEAR(sum, products, TestFixture::kTolerance * (1 + products));
  }
}

TYPED_TEST(CrfKernels, MaxPlusTakesTheFirstOfTheBest) {
  using Real = TypeParam;
  for (const size_t n : kWidths) {
    std::vector<Real> matrix = this->normals(n * n);
    std::vector<double> x(n), best(n);
    for (Real& v : matrix) v = std::round(v);
    for (double& v : x) v = std::round(this->random_.normal());
    std::vector<uint64_t> from(n);
    max_plus(x.data(), matrix.data(), n, best.data(), from.data());
    for (size_t k = 0; k < n; ++k) {
      size_t first = 0;
      for (size_t j = 1; j < n; ++j)
        if (x[j] + static_cast<double>(matrix[j * n + k]) >
            x[first] + static_cast<double>(matrix[first * n + k]))
          first = j;
      EXPECT_EQ(from[k], first);
      EXPECT_EQ(best[k], x[first] + static_cast<double>(matrix[first * n + k]));
    }
  }
}

}  // namespace
}  // namespace selfnorm
