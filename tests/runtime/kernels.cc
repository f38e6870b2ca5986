#include "selfnorm/runtime/kernels.h"

#include <gtest/gtest.h>

#include "math/half.h"
#include "model/parameters.h"
#include "runtime/random_model.h"

namespace selfnorm::runtime {
namespace {

std::vector<const Kernels*> all_kernels() {
  const Kernels* found[kMostKernels];
  const size_t n = supported_kernels(found);
  return {found, found + n};
}

constexpr size_t kLengths[] = {1, 2, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 127, 256, 300};

TEST(Kernels, DotsMatchDoubleForEveryInstructionSet) {
  std::mt19937 random(7);
  for (const size_t d : kLengths) {
    const auto w = test::normals(random, 3 * d), x = test::normals(random, d);
    std::vector<uint16_t> halves;
    for (const float v : w) halves.push_back(to_bfloat16(v));
    const Int8Rows bytes = to_int8(w, d);
    for (const Kernels* kernels : all_kernels()) {
      float f32[3], bf16[3], i8[3];
      kernels->dot_f32({w.data(), 3, d, x.data()}, f32);
      kernels->dot_bf16({halves.data(), 3, d, x.data()}, bf16);
      kernels->dot_i8({bytes.values.data(), 3, d, x.data()}, i8);
      for (size_t k = 0; k < 3; ++k) {
        double a = 0, b = 0, c = 0, size = 1;
        for (size_t j = 0; j < d; ++j) {
          a += static_cast<double>(w[k * d + j]) * x[j];
          b += static_cast<double>(from_bfloat16(halves[k * d + j])) * x[j];
          c += static_cast<double>(bytes.values[k * d + j]) * x[j];
          size += std::fabs(w[k * d + j] * x[j]);
        }
        EXPECT_NEAR(f32[k], a, 1e-6 * size) << kernels->name << " d=" << d;
        EXPECT_NEAR(bf16[k], b, 1e-6 * size) << kernels->name << " d=" << d;
        EXPECT_NEAR(i8[k], c, 1e-4 * size) << kernels->name << " d=" << d;
      }
    }
  }
}

TEST(Kernels, HiddenUnitsMatchDoubleForEveryInstructionSet) {
  std::mt19937 random(9);
  for (const size_t m : kLengths) {
    for (const size_t inputs : {size_t{1}, size_t{4}, size_t{15}}) {
      const auto w = test::normals(random, m), scale = test::normals(random, m, 1e-4f),
                 bias = test::normals(random, m);
      std::vector<uint16_t> halves;
      for (const float v : w) halves.push_back(to_bfloat16(v));
      const Int8Rows bytes = to_int8(w, m);
      std::vector<std::vector<int16_t>> q(inputs, std::vector<int16_t>(m));
      std::vector<const int16_t*> rows;
      const int limit = 32767 / static_cast<int>(inputs);
      for (auto& row : q) {
        for (int16_t& v : row) v = static_cast<int16_t>(static_cast<int>(random() % (2 * limit + 1)) - limit);
        rows.push_back(row.data());
      }
      for (auto& row : q) row[m - 1] = static_cast<int16_t>(limit);
      const HiddenSum sum{rows.data(), inputs, scale.data(), bias.data(), m};
      for (const Kernels* kernels : all_kernels()) {
        std::vector<float> h(m), y = w;
        kernels->hidden(sum, h.data());
        double size = 1;
        for (size_t j = 0; j < m; ++j) {
          double unit = 0;
          for (const auto& row : q) unit += row[j];
          unit = std::max(0.0, unit * scale[j] + bias[j]);
          EXPECT_NEAR(h[j], unit, 1e-5) << kernels->name << " m=" << m;
          size += std::fabs(w[j] * h[j]);
        }
        float f32, bf16, i8;
        kernels->dot_f32({w.data(), 1, m, h.data()}, &f32);
        kernels->dot_bf16({halves.data(), 1, m, h.data()}, &bf16);
        kernels->dot_i8({bytes.values.data(), 1, m, h.data()}, &i8);
        EXPECT_NEAR(kernels->hidden_dot_f32(sum, w.data()), f32, 1e-6 * size);
        EXPECT_NEAR(kernels->hidden_dot_bf16(sum, halves.data()), bf16, 1e-6 * size);
        EXPECT_NEAR(kernels->hidden_dot_i8(sum, bytes.values.data()), i8, 1e-4 * size);
        kernels->add_scaled(0.5f, h.data(), m, y.data());
        for (size_t j = 0; j < m; ++j) EXPECT_NEAR(y[j], w[j] + 0.5 * h[j], 1e-5);
      }
    }
  }
}

TEST(Kernels, FourRowsAreAddedToTheBitsOfOneAfterTheOther) {
  std::mt19937 random(11);
  for (const size_t n : kLengths) {
    const auto rows = test::normals(random, 4 * n), start = test::normals(random, n);
    const auto factor = test::normals(random, 4);
    const float* const row[] = {rows.data(), rows.data() + n, rows.data() + 2 * n, rows.data() + 3 * n};
    for (const Kernels* kernels : all_kernels()) {
      std::vector<float> together = start, one_by_one = start;
      kernels->add_four(factor.data(), row, n, together.data());
      for (size_t i = 0; i < 4; ++i) kernels->add_scaled(factor[i], row[i], n, one_by_one.data());
      EXPECT_EQ(together, one_by_one) << kernels->name << " n=" << n;
    }
  }
}

TEST(Kernels, SumsUpToALimitMatchDouble) {
  std::mt19937 random(12);
  for (const size_t n : kLengths) {
    auto doubt = test::normals(random, n), worth = test::normals(random, n);
    for (float& v : doubt) v *= v;
    for (const float most : {-9.0f, worth[n / 2], 0.5f, INFINITY}) {
      double expected = 0;
      for (size_t j = 0; j < n; ++j) expected += worth[j] <= most ? static_cast<double>(doubt[j]) : 0;
      for (const Kernels* kernels : all_kernels())
        EXPECT_NEAR(kernels->sum_up_to(n, doubt.data(), worth.data(), most), expected, 1e-6 * (1 + expected))
            << kernels->name << " n=" << n;
    }
  }
}

TEST(Kernels, NonFiniteInputNeverHides) {
  for (const size_t d : kLengths) {
    const std::vector<float> w(d, 0.0f);
    for (const float bad : {INFINITY, -INFINITY, NAN}) {
      for (size_t j = 0; j < d; ++j) {
        std::vector<float> x(d, 1.0f);
        x[j] = bad;
        for (const Kernels* kernels : all_kernels()) {
          float out = 0;
          kernels->dot_f32({w.data(), 1, d, x.data()}, &out);
          EXPECT_FALSE(std::isfinite(out));
        }
      }
    }
  }
}

TEST(Kernels, ExpSumMatchesDouble) {
  std::mt19937 random(8);
  for (const size_t n : kLengths) {
    for (const double level : {0.0, 1e9, 1e15}) {
      std::vector<double> s;
      for (const float v : test::normals(random, n, 20)) s.push_back(level + v);
      s[n / 2] = -1e38;
      const double largest = *std::max_element(s.begin(), s.end());
      double expected = 0;
      for (const double v : s) expected += std::exp(v - largest);
      for (const Kernels* kernels : all_kernels()) {
        double max = 0;
        const double sum = kernels->exp_sum(s.data(), n, &max);
        EXPECT_EQ(max, largest);
        EXPECT_NEAR(sum / expected, 1, 5e-7) << kernels->name;
        EXPECT_GE(sum, 1);
        if (level > 0) continue;
        const std::vector<float> rounded(s.begin(), s.end());
        EXPECT_NEAR(kernels->exp_sum_f32(rounded.data(), n, &max) / expected, 1, 5e-7) << kernels->name;
        EXPECT_EQ(max, static_cast<float>(largest));
      }
    }
  }
}

}  // namespace
}  // namespace selfnorm::runtime
