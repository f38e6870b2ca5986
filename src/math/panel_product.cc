// A block of kRows x (2 vectors) of C stays in registers while k runs.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/math/panel_product.cc"
// Arrays of vectors need vectors whose size is known.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include <algorithm>

#include "math/panel_product.h"

HWY_BEFORE_NAMESPACE();
namespace selfnorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t kRows = HWY_LANES(float) >= 16 ? 8 : 4;

// The left factor: element (i, k) is at[i * row + k * step].
struct Left {
  const float* at;
  size_t row, step;
};
// Rows of floats.
struct Rows {
  const float* at;
  size_t stride;
};

// R rows x kVectors (1 or 2) vectors of C <- start + A B.
template <size_t R, size_t kVectors, bool kByColumns>
HWY_INLINE void block_product(size_t k, const Left& a, const Rows& b, const Rows& start, float* c,
                              size_t ldc) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  hn::Vec<decltype(d)> s0[R], s1[R];
  HWY_UNROLL(8)
  for (size_t i = 0; i < R; ++i) {
    s0[i] = hn::LoadU(d, start.at + i * start.stride);
    if constexpr (kVectors == 2) s1[i] = hn::LoadU(d, start.at + i * start.stride + lanes);
  }
  const float* x = a.at;
  const float* y = b.at;
  const size_t row = kByColumns ? 1 : a.row, step = kByColumns ? a.step : 1;
  for (size_t p = 0; p < k; ++p, x += step, y += b.stride) {
    const auto y0 = hn::LoadU(d, y), y1 = hn::LoadU(d, y + (kVectors - 1) * lanes);
    HWY_UNROLL(8)
    for (size_t i = 0; i < R; ++i) {
      const auto v = hn::Set(d, x[i * row]);
      s0[i] = hn::MulAdd(v, y0, s0[i]);
      if constexpr (kVectors == 2) s1[i] = hn::MulAdd(v, y1, s1[i]);
    }
  }
  HWY_UNROLL(8)
  for (size_t i = 0; i < R; ++i) {
    hn::StoreU(s0[i], d, c + i * ldc);
    if constexpr (kVectors == 2) hn::StoreU(s1[i], d, c + i * ldc + lanes);
  }
}

// m rows x the vectors of one panel that hold its first n columns.
template <bool kByColumns>
void panel_rows(size_t m, size_t n, size_t k, const Left& a, const Rows& b, const Rows& start, float* c,
                size_t ldc) {
  const size_t lanes = hn::Lanes(hn::ScalableTag<float>());
  size_t i = 0;
  const auto take = [&](auto rows) HWY_ATTR {
    for (size_t j = 0; j < n; j += 2 * lanes) {
      const Left left{a.at + i * a.row, a.row, a.step};
      const Rows right{b.at + j, b.stride}, from{start.at + i * start.stride + j, start.stride};
      if (n - j > lanes)
        block_product<decltype(rows)::value, 2, kByColumns>(k, left, right, from, c + i * ldc + j, ldc);
      else
        block_product<decltype(rows)::value, 1, kByColumns>(k, left, right, from, c + i * ldc + j, ldc);
    }
    i += decltype(rows)::value;
  };
  while (i + kRows <= m) take(std::integral_constant<size_t, kRows>());
  if (i + 4 <= m) take(std::integral_constant<size_t, 4>());
  if (i + 2 <= m) take(std::integral_constant<size_t, 2>());
  if (i < m) take(std::integral_constant<size_t, 1>());
}

void packed_product(size_t m, const float* a, size_t lda, const Panels& b, const float* start,
                    size_t start_stride, float* c, size_t ldc) {
  for (size_t j = 0; j < b.n(); j += kPanel) {
    panel_rows<false>(m, std::min(kPanel, b.n() - j), b.k(), {a, lda, 1}, {b.panel(j), kPanel},
                      {start + j, start_stride}, c + j, ldc);
  }
}

void transposed_product(size_t m, size_t n, size_t k, const float* a, size_t lda, const float* b, size_t ldb,
                        float* c, size_t ldc) {
  for (size_t j = 0; j < n; j += kPanel) {
    panel_rows<true>(m, std::min(kPanel, n - j), k, {a, 1, lda}, {b + j, ldb}, {c + j, ldc}, c + j, ldc);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace selfnorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace selfnorm {

HWY_EXPORT(packed_product);
HWY_EXPORT(transposed_product);

AlignedFloats::AlignedFloats(size_t n)
    : data_(static_cast<float*>(::operator new[](n * sizeof(float), kAlignment))), size_(n) {
  std::fill_n(data_.get(), n, 0.0f);
}

Panels::Panels(size_t k, size_t n) : k_(k), n_(n), values_(k * whole_panels(n)), start_(whole_panels(n)) {}

void Panels::pack_transposed(const float* m, size_t stride, float factor) {
  for (size_t j = 0; j < n_; ++j) {
    float* to = values_.data() + j / kPanel * kPanel * k_ + j % kPanel;
    for (size_t p = 0; p < k_; ++p) to[p * kPanel] = factor * m[j * stride + p];
  }
}

void Panels::pack(const float* m, size_t stride, float factor) {
  for (size_t j = 0; j < n_; j += kPanel) {
    float* to = values_.data() + j * k_;
    const size_t columns = std::min(kPanel, n_ - j);
    for (size_t p = 0; p < k_; ++p)
      for (size_t i = 0; i < columns; ++i) to[p * kPanel + i] = factor * m[p * stride + j + i];
  }
}

void Panels::set_start(const float* c) { std::copy_n(c, n_, start_.data()); }

void panel_product(size_t m, const float* a, size_t lda, const Panels& b, float* c, size_t ldc) {
  panel_product_from(b.start(), m, a, lda, b, c, ldc);
}

void panel_product_from(const float* start, size_t m, const float* a, size_t lda, const Panels& b, float* c,
                        size_t ldc) {
  HWY_DYNAMIC_DISPATCH(packed_product)(m, a, lda, b, start, 0, c, ldc);
}

void add_panel_product(size_t m, const float* a, size_t lda, const Panels& b, float* c, size_t ldc) {
  HWY_DYNAMIC_DISPATCH(packed_product)(m, a, lda, b, c, ldc, c, ldc);
}

void add_transposed_product(size_t m, size_t n, size_t k, const float* a, size_t lda, const float* b,
                            size_t ldb, float* c, size_t ldc) {
  HWY_DYNAMIC_DISPATCH(transposed_product)(m, n, k, a, lda, b, ldb, c, ldc);
}

void add_transposed(size_t m, size_t n, const float* a, size_t lda, float* c) {
  constexpr size_t kBlock = 32;
  for (size_t row = 0; row < m; row += kBlock) {
    const size_t stop = std::min(m, row + kBlock);
    for (size_t j = 0; j < n; ++j)
      for (size_t i = row; i < stop; ++i) c[j * m + i] += a[i * lda + j];
  }
}

}  // namespace selfnorm
#endif
