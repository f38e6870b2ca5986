#include "math/panel_product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "random_data.h"

namespace selfnorm {
namespace {

struct Size {
  size_t m, n, k;
};
const std::vector<Size> kSizes = {{1, 1, 1},    {2, 3, 4},    {7, 31, 2},   {8, 32, 5},
                                  {9, 33, 128}, {64, 64, 64}, {13, 130, 3}, {65, 100, 0}};

TEST(PanelProduct, PackedFactors) {
  for (const auto& [m, n, k] : kSizes) {
    const std::vector<float> a = random_vector<float>(m * (k + 3), 1), b = random_vector<float>(k * n + 1, 2),
                             start = random_vector<float>(n, 3);
    std::vector<float> transposed(n * k + 1);
    for (size_t p = 0; p < k; ++p)
      for (size_t j = 0; j < n; ++j) transposed[j * k + p] = b[p * n + j];
    Panels direct(k, n), turned(k, n);
    direct.pack(b.data(), n, 2);
    turned.pack_transposed(transposed.data(), k, 2);
    direct.set_start(start.data());
    turned.set_start(start.data());
    AlignedFloats c(m * panel_stride(n)), e(m * panel_stride(n));
    panel_product(m, a.data(), k + 3, direct, c.data(), panel_stride(n));
    panel_product(m, a.data(), k + 3, turned, e.data(), panel_stride(n));
    add_panel_product(m, a.data(), k + 3, turned, e.data(), panel_stride(n));
    for (size_t i = 0; i < m; ++i) {
      for (size_t j = 0; j < n; ++j) {
        double sum = 0;
        for (size_t p = 0; p < k; ++p)
          sum += 2 * static_cast<double>(a[i * (k + 3) + p]) * static_cast<double>(b[p * n + j]);
        const double first = static_cast<double>(start[j]) + sum;
        EXPECT_NEAR(c.data()[i * panel_stride(n) + j], first, 1e-4) << m << ' ' << n << ' ' << k;
        EXPECT_NEAR(e.data()[i * panel_stride(n) + j], first + sum, 2e-4) << m << ' ' << n << ' ' << k;
      }
    }
  }
}

TEST(PanelProduct, TransposedFactor) {
  for (const auto& [m, n, k] : kSizes) {
    const size_t stride = panel_stride(n);
    const std::vector<float> a = random_vector<float>(k * (m + 2) + 1, 1),
                             b = random_vector<float>(k * stride + 1, 2);
    AlignedFloats c(m * stride);
    for (size_t i = 0; i < c.size(); ++i) c.data()[i] = 1;
    add_transposed_product(m, n, k, a.data(), m + 2, b.data(), stride, c.data(), stride);
    for (size_t i = 0; i < m; ++i) {
      for (size_t j = 0; j < n; ++j) {
        double sum = 1;
        for (size_t p = 0; p < k; ++p)
          sum += static_cast<double>(a[p * (m + 2) + i]) * static_cast<double>(b[p * stride + j]);
        EXPECT_NEAR(c.data()[i * stride + j], sum, 1e-4) << m << ' ' << n << ' ' << k;
      }
    }
  }
}

TEST(PanelProduct, BitsOfARowDoNotDependOnItsPlace) {
  const size_t n = 40, k = 50, stride = panel_stride(n);
  const std::vector<float> row = random_vector<float>(k, 1), b = random_vector<float>(k * n, 2);
  Panels panels(k, n);
  panels.pack(b.data(), n, 1);
  std::vector<float> a;
  for (size_t i = 0; i < 31; ++i) a.insert(a.end(), row.begin(), row.end());
  AlignedFloats c(31 * stride);
  panel_product(31, a.data(), k, panels, c.data(), stride);
  for (size_t i = 1; i < 31; ++i)
    for (size_t j = 0; j < n; ++j) EXPECT_EQ(c.data()[i * stride + j], c.data()[j]);
}

TEST(PanelProduct, StartsFromAnyRow) {
  for (const auto& [m, n, k] : kSizes) {
    const size_t stride = panel_stride(n);
    const std::vector<float> a = random_vector<float>(m * k + 1, 1), b = random_vector<float>(k * n + 1, 2),
                             start = random_vector<float>(whole_panels(n), 3);
    Panels without(k, n), with(k, n);
    without.pack(b.data(), n, 1);
    with.pack(b.data(), n, 1);
    with.set_start(start.data());
    AlignedFloats c(m * stride), e(m * stride);
    panel_product_from(start.data(), m, a.data(), k, without, c.data(), stride);
    panel_product(m, a.data(), k, with, e.data(), stride);
    for (size_t i = 0; i < m; ++i)
      for (size_t j = 0; j < n; ++j)
        EXPECT_EQ(c.data()[i * stride + j], e.data()[i * stride + j]) << m << ' ' << n << ' ' << k;
  }
}

TEST(PanelProduct, AddTransposed) {
  for (const auto& [m, n] : {std::pair<size_t, size_t>{1, 1}, {3, 40}, {70, 5}, {64, 33}, {0, 4}}) {
    const size_t stride = n + 3;
    const std::vector<float> a = random_vector<float>(m * stride, 1);
    std::vector<float> c(n * m, 2.0f);
    add_transposed(m, n, a.data(), stride, c.data());
    for (size_t j = 0; j < n; ++j)
      for (size_t i = 0; i < m; ++i) EXPECT_EQ(c[j * m + i], 2.0f + a[i * stride + j]);
  }
}

TEST(PanelProduct, Alignment) {
  const AlignedFloats floats(5);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(floats.data()) % 64, 0u);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(floats.data()[i], 0);
  EXPECT_EQ(panel_stride(128) * sizeof(float) / 64 % 2, 1u);
}

}  // namespace
}  // namespace selfnorm
