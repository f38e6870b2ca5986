#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/math/row_kernels.cc"
#include <hwy/foreach_target.h>
//
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "math/crf_kernels.h"
#include "math/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace selfnorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The first n < lanes numbers, nothing read beyond them.
template <class D, class Real>
hn::Vec<D> load_first(D d, const Real* x, size_t n) {
#if HWY_TARGET <= HWY_AVX2
  return hn::MaskedLoad(hn::FirstN(d, n), d, x);
#else
  HWY_ALIGN Real part[HWY_LANES(Real)] = {};
  std::memcpy(part, x, n * sizeof(Real));
  return hn::Load(d, part);
#endif
}
template <class D, class Real>
void store_first(D d, hn::Vec<D> v, Real* x, size_t n) {
  HWY_ALIGN Real part[HWY_LANES(Real)];
  hn::Store(v, d, part);
  std::memcpy(x, part, n * sizeof(Real));
}

template <class Real>
bool all_finite_t(const Real* x, size_t n) {
  const hn::ScalableTag<Real> d;
  const size_t lanes = hn::Lanes(d);
  auto sum = hn::Zero(d);  // of x - x: 0 or NaN
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::LoadU(d, x + i);
    sum = hn::Add(sum, hn::Sub(v, v));
  }
  if (i < n) {
    const auto v = load_first(d, x + i, n - i);
    sum = hn::Add(sum, hn::Sub(v, v));
  }
  return hn::AllTrue(d, hn::Eq(sum, hn::Zero(d)));
}

constexpr size_t kAhead = 12;  // rows

template <class Real, size_t vectors>
void add_rows_block(const RowList& list, const Real* HWY_RESTRICT matrix, size_t width, size_t last,
                    Real* HWY_RESTRICT out) {
  const hn::ScalableTag<Real> d;
  const size_t lanes = hn::Lanes(d);
  const auto load = [=](const Real* x, size_t v) HWY_ATTR {
    return v + 1 == vectors && last < lanes ? load_first(d, x + v * lanes, last)
                                            : hn::LoadU(d, x + v * lanes);
  };
  hn::Vec<decltype(d)> sum[vectors];
  for (size_t v = 0; v < vectors; ++v) sum[v] = load(out, v);
  for (size_t i = 0; i < list.count; ++i) {
    if (i + kAhead < list.readable) {
      const Real* next = matrix + width * list.row[i + kAhead];
      hwy::Prefetch(next);
      hwy::Prefetch(next + std::min(width, vectors * lanes) - 1);
    }
    const Real* row = matrix + width * list.row[i];
    if (list.value == nullptr) {
      for (size_t v = 0; v < vectors; ++v) sum[v] = hn::Add(sum[v], load(row, v));
    } else {
      const auto value = hn::Set(d, static_cast<Real>(list.value[i]));
      for (size_t v = 0; v < vectors; ++v) sum[v] = hn::MulAdd(value, load(row, v), sum[v]);
    }
  }
  for (size_t v = 0; v + 1 < vectors; ++v) hn::StoreU(sum[v], d, out + v * lanes);
  if (last < lanes)
    store_first(d, sum[vectors - 1], out + (vectors - 1) * lanes, last);
  else
    hn::StoreU(sum[vectors - 1], d, out + (vectors - 1) * lanes);
}

template <class Real>
void add_rows_t(const RowList& list, const Real* matrix, size_t width, Real* out) {
  const size_t lanes = hn::Lanes(hn::ScalableTag<Real>());
  for (size_t k = 0; k < width;) {
    const size_t left = width - k, vectors = std::min<size_t>(4, (left + lanes - 1) / lanes);
    const size_t last = std::min(lanes, left - (vectors - 1) * lanes);
    for_count(vectors, [&](auto count) HWY_ATTR {
      add_rows_block<Real, decltype(count)::value>(list, matrix + k, width, last, out + k);
    });
    k += vectors * lanes;
  }
}

// Highway exports functions, not templates.
#define SELFNORM_ROW_KERNELS(Real, name)                                         \
  bool all_finite_##name(const Real* x, size_t n) { return all_finite_t(x, n); } \
  void add_rows_##name(const RowList& l, const Real* m, size_t w, Real* o) { add_rows_t(l, m, w, o); }
SELFNORM_ROW_KERNELS(float, float)
SELFNORM_ROW_KERNELS(double, double)
#undef SELFNORM_ROW_KERNELS

}  // namespace HWY_NAMESPACE
}  // namespace selfnorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace selfnorm {

#define SELFNORM_ROW_DISPATCH(Real, name)                                           \
  HWY_EXPORT(all_finite_##name);                                                    \
  HWY_EXPORT(add_rows_##name);                                                      \
  template <>                                                                       \
  bool all_finite(const Real* x, size_t n) {                                        \
    return HWY_DYNAMIC_DISPATCH(all_finite_##name)(x, n);                           \
  }                                                                                 \
  template <>                                                                       \
  void add_rows(const RowList& list, const Real* matrix, size_t width, Real* out) { \
    HWY_DYNAMIC_DISPATCH(add_rows_##name)(list, matrix, width, out);                \
  }
SELFNORM_ROW_DISPATCH(float, float)
SELFNORM_ROW_DISPATCH(double, double)
#undef SELFNORM_ROW_DISPATCH

}  // namespace selfnorm
#endif
