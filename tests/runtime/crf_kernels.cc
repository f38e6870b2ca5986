#include <gtest/gtest.h>

#include "runtime/random_model.h"
#include "selfnorm/runtime/kernels.h"

namespace selfnorm::runtime {
namespace {

constexpr size_t kSizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 33, 49, 64, 65};

// each(kernels) of the instruction sets of this processor.
template <class Each>
void for_kernels(const Each& each) {
  const Kernels* found[kMostKernels];
  const size_t n = supported_kernels(found);
  for (size_t i = 0; i < n; ++i) {
    SCOPED_TRACE(found[i]->name);
    each(found[i]->crf);
  }
}

std::vector<double> doubles(std::mt19937& random, size_t n) {
  const auto values = test::normals(random, n);
  return {values.begin(), values.end()};
}

// n x n with padded rows
std::vector<double> matrix(std::mt19937& random, size_t n) {
  std::vector<double> out(n * padded(n));
  for (size_t j = 0; j < n; ++j)
    for (size_t k = 0; k < n; ++k) out[j * padded(n) + k] = std::fabs(doubles(random, 1)[0]);
  return out;
}

TEST(CrfKernels, RowsAreAddedInOrder) {
  std::mt19937 random(1);
  for (const size_t width : kSizes) {
    const auto m = test::normals(random, 5 * width), init = test::normals(random, width),
               value = test::normals(random, 3);
    const uint32_t row[] = {4, 0, 4};
    for_kernels([&](const CrfKernels& kernels) {
      for (const float* v : {static_cast<const float*>(nullptr), value.data()}) {
        for (const float* i : {static_cast<const float*>(nullptr), init.data()}) {
          std::vector<float> out(width + 1, 7);
          kernels.add_rows({i, m.data(), width, row, v, 3, 3}, out.data());
          for (size_t k = 0; k < width; ++k) {
            float expected = i == nullptr ? 0 : i[k];
            for (size_t r = 0; r < 3; ++r) expected += (v == nullptr ? 1 : v[r]) * m[row[r] * width + k];
            if (v == nullptr)
              EXPECT_EQ(out[k], expected);
            else
              EXPECT_NEAR(out[k], expected, 1e-5);
          }
          EXPECT_EQ(out[width], 7);
        }
      }
    });
  }
}

TEST(CrfKernels, MaximaAreTheFirst) {
  std::mt19937 random(2);
  for (const size_t n : kSizes) {
    auto x = doubles(random, n);
    auto v = test::normals(random, n * n);
    for (double& value : x) value = std::round(value);  // so that there are ties
    for (float& value : v) value = std::round(value);
    for_kernels([&](const CrfKernels& kernels) {
      std::vector<double> best(n);
      std::vector<uint32_t> from(n);
      kernels.max_plus(x.data(), v.data(), n, best.data(), from.data());
      for (size_t k = 0; k < n; ++k) {
        size_t first = 0;
        for (size_t j = 1; j < n; ++j)
          if (x[j] + v[j * n + k] > x[first] + v[first * n + k]) first = j;
        EXPECT_EQ(from[k], first);
        EXPECT_EQ(best[k], x[first] + v[first * n + k]);
      }
    });
  }
}

TEST(CrfKernels, ExponentialsAreThoseOfTheLibraryOfC) {
  for (const size_t n : kSizes) {
    for (const float step : {0.f, 0.0137f, 1.f, 44.2f, 1000.f}) {
      std::vector<float> s(n);
      for (size_t k = 0; k < n; ++k) s[k] = 3 - step * static_cast<float>(k);
      for_kernels([&](const CrfKernels& kernels) {
        std::vector<double> out(padded(n), 7);
        kernels.exp_shifted(s.data(), n, 3.25, out.data());
        for (size_t k = 0; k < padded(n); ++k) {
          const double t = k < n ? static_cast<double>(s[k]) - 3.25 : -1e9;
          const double expected = t < -708 ? 0 : std::exp(t);
          EXPECT_NEAR(out[k], expected, 1e-14 * expected) << t;
        }
      });
    }
  }
}

TEST(CrfKernels, ProductsMatchTheirDefinition) {
  std::mt19937 random(3);
  for (const size_t n : kSizes) {
    const auto m = matrix(random, n);
    auto x = doubles(random, padded(n)), f = doubles(random, padded(n));
    std::fill(x.begin() + static_cast<ptrdiff_t>(n), x.end(), 0);
    for_kernels([&](const CrfKernels& kernels) {
      for (const double* factor : {static_cast<const double*>(nullptr), std::as_const(f).data()}) {
        std::vector<double> out(padded(n), 7), dots(padded(n), 7), product(padded(n), 7);
        const SumLeast c = kernels.scaled_product(n, x.data(), m.data(), factor, out.data());
        kernels.dots(n, m.data(), x.data(), dots.data());
        const double total = kernels.products(n, 0.5, x.data(), f.data(), product.data());
        double sum = 0, least = 1e300, products = 0;
        for (size_t k = 0; k < n; ++k) {
          double column = 0, row = 0;
          for (size_t j = 0; j < n; ++j) {
            column += x[j] * m[j * padded(n) + k];
            row += x[j] * m[k * padded(n) + j];
          }
          if (factor != nullptr) column *= factor[k];
          EXPECT_NEAR(out[k], column, 1e-12);
          EXPECT_NEAR(dots[k], row, 1e-12);
          EXPECT_NEAR(product[k], 0.5 * x[k] * f[k], 1e-14);
          sum += column;
          least = std::min(least, column);
          products += 0.5 * x[k] * f[k];
        }
        for (size_t k = n; k < padded(n); ++k)
          EXPECT_EQ(out[k] == 0 && dots[k] == 0 && product[k] == 0, true);
        EXPECT_NEAR(c.sum, sum, 1e-11);
        EXPECT_NEAR(c.least, least, 1e-12);
        EXPECT_NEAR(total, products, 1e-12);
      }
    });
  }
}

}  // namespace
}  // namespace selfnorm::runtime
