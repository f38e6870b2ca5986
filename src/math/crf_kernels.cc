#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/math/crf_kernels.cc"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "math/crf_kernels.h"
#include "math/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace selfnorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class Real>
size_t padded_width_t(size_t n) {
  const size_t lanes = hn::Lanes(hn::ScalableTag<Real>());
  return (n + lanes - 1) / lanes * lanes;
}

// Two sums over even and odd j: additions wait less for each other.
template <class Real, size_t vectors>
void product_block(LabelSpace space, const Real* HWY_RESTRICT x, const Real* HWY_RESTRICT matrix,
                   Real* HWY_RESTRICT out) {
  const hn::ScalableTag<Real> d;
  const size_t lanes = hn::Lanes(d);
  hn::Vec<decltype(d)> even[vectors], odd[vectors];
  for (size_t v = 0; v < vectors; ++v) even[v] = odd[v] = hn::Zero(d);
  size_t j = 0;
  for (; j + 2 <= space.n; j += 2) {
    const Real* row = matrix + j * space.stride;
    const auto a = hn::Set(d, x[j]), b = hn::Set(d, x[j + 1]);
    for (size_t v = 0; v < vectors; ++v) {
      even[v] = hn::MulAdd(a, hn::LoadU(d, row + v * lanes), even[v]);
      odd[v] = hn::MulAdd(b, hn::LoadU(d, row + space.stride + v * lanes), odd[v]);
    }
  }
  if (j < space.n) {
    const auto a = hn::Set(d, x[j]);
    for (size_t v = 0; v < vectors; ++v)
      even[v] = hn::MulAdd(a, hn::LoadU(d, matrix + j * space.stride + v * lanes), even[v]);
  }
  for (size_t v = 0; v < vectors; ++v) hn::StoreU(hn::Add(even[v], odd[v]), d, out + v * lanes);
}

template <class Real>
SumLeast scaled_product_t(LabelSpace space, const Real* x, const Real* matrix, const Real* factor,
                          Real* out) {
  const hn::ScalableTag<Real> d;
  const size_t lanes = hn::Lanes(d);
  for (size_t k = 0; k < space.stride;) {
    const size_t vectors = std::min<size_t>(4, (space.stride - k) / lanes);
    for_count(vectors, [&](auto count) HWY_ATTR {
      product_block<Real, decltype(count)::value>(space, x, matrix + k, out + k);
    });
    k += vectors * lanes;
  }
  auto sum = hn::Zero(d);
  auto least = hn::Set(d, std::numeric_limits<Real>::infinity());
  for (size_t k = 0; k < space.stride; k += lanes) {
    auto v = hn::LoadU(d, out + k);
    if (factor != nullptr) v = hn::Mul(v, hn::LoadU(d, factor + k));
    hn::StoreU(v, d, out + k);
    sum = hn::Add(sum, v);
    least = hn::IfThenElse(hn::FirstN(d, std::min(lanes, space.n - k)), hn::Min(v, least), least);
  }
  return {static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum))),
          static_cast<double>(hn::GetLane(hn::MinOfLanes(d, least)))};
}

template <class Real, size_t vectors>
void listed_block(LabelSpace space, const Real* HWY_RESTRICT x, const Real* HWY_RESTRICT matrix,
                  const ListedRows<Real>& rows, size_t k, Real* HWY_RESTRICT out) {
  const hn::ScalableTag<Real> d;
  const size_t lanes = hn::Lanes(d);
  hn::Vec<decltype(d)> sum[vectors];
  const auto others = hn::Set(d, rows.others);
  for (size_t v = 0; v < vectors; ++v) sum[v] = hn::Mul(others, hn::LoadU(d, rows.mean + k + v * lanes));
  for (size_t i = 0; i < rows.count; ++i) {
    const Real* row = matrix + rows.row[i] * space.stride + k;
    const auto a = hn::Set(d, x[rows.row[i]]);
    for (size_t v = 0; v < vectors; ++v) sum[v] = hn::MulAdd(a, hn::LoadU(d, row + v * lanes), sum[v]);
  }
  for (size_t v = 0; v < vectors; ++v) hn::StoreU(sum[v], d, out + k + v * lanes);
}

template <class Real>
double listed_product_t(LabelSpace space, const Real* x, const Real* matrix, const ListedRows<Real>& rows,
                        const Real* factor, Real* out) {
  const hn::ScalableTag<Real> d;
  const size_t lanes = hn::Lanes(d);
  for (size_t k = 0; k < space.stride;) {
    const size_t vectors = std::min<size_t>(4, (space.stride - k) / lanes);
    for_count(vectors, [&](auto count) HWY_ATTR {
      listed_block<Real, decltype(count)::value>(space, x, matrix, rows, k, out);
    });
    k += vectors * lanes;
  }
  auto sum = hn::Zero(d);
  for (size_t k = 0; k < space.stride; k += lanes) {
    const auto v = hn::Mul(hn::LoadU(d, out + k), hn::LoadU(d, factor + k));
    hn::StoreU(v, d, out + k);
    sum = hn::Add(sum, v);
  }
  return static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum)));
}

// Several terms and two rows for one reading of the terms and one reading and writing of the matrix. Every
// cell adds its terms in their order.
template <class Real, size_t terms, size_t rows>
HWY_INLINE void outer_rows(LabelSpace space, const Real* HWY_RESTRICT x, const Real* HWY_RESTRICT y,
                           Real* HWY_RESTRICT matrix) {
  const hn::ScalableTag<Real> d;
  hn::Vec<decltype(d)> left[rows][terms];
  for (size_t r = 0; r < rows; ++r)
    for (size_t i = 0; i < terms; ++i) left[r][i] = hn::Set(d, x[i * space.stride + r]);
  for (size_t k = 0; k < space.stride; k += hn::Lanes(d)) {
    hn::Vec<decltype(d)> sum[rows];
    for (size_t r = 0; r < rows; ++r) sum[r] = hn::LoadU(d, matrix + r * space.stride + k);
    for (size_t i = 0; i < terms; ++i) {
      const auto right = hn::LoadU(d, y + i * space.stride + k);
      for (size_t r = 0; r < rows; ++r) sum[r] = hn::MulAdd(left[r][i], right, sum[r]);
    }
    for (size_t r = 0; r < rows; ++r) hn::StoreU(sum[r], d, matrix + r * space.stride + k);
  }
}

template <class Real, size_t terms>
void outer_block(LabelSpace space, const Real* x, const Real* y, Real* matrix) {
  size_t j = 0;
  for (; j + 2 <= space.n; j += 2) outer_rows<Real, terms, 2>(space, x + j, y, matrix + j * space.stride);
  if (j < space.n) outer_rows<Real, terms, 1>(space, x + j, y, matrix + j * space.stride);
}

template <class Real>
void add_outer_t(LabelSpace space, size_t count, const Real* x, const Real* y, Real* matrix) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8)
    outer_block<Real, 8>(space, x + i * space.stride, y + i * space.stride, matrix);
  for (; i < count; i += 4) {
    for_count(std::min<size_t>(4, count - i), [&](auto terms) HWY_ATTR {
      outer_block<Real, decltype(terms)::value>(space, x + i * space.stride, y + i * space.stride, matrix);
    });
  }
}

template <class Real>
double multiply_rows_t(LabelSpace space, double a, const Real* x, const Real* y, Real* out) {
  const hn::ScalableTag<Real> d;
  const auto factor = hn::Set(d, static_cast<Real>(a));
  auto sum = hn::Zero(d);
  for (size_t k = 0; k < space.stride; k += hn::Lanes(d)) {
    const auto v = hn::Mul(hn::Mul(hn::LoadU(d, x + k), factor), hn::LoadU(d, y + k));
    hn::StoreU(v, d, out + k);
    sum = hn::Add(sum, v);
  }
  return static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum)));
}

template <class Real>
void max_plus_t(const double* HWY_RESTRICT x, const Real* HWY_RESTRICT matrix, size_t n,
                double* HWY_RESTRICT best, uint64_t* HWY_RESTRICT from) {
  const hn::ScalableTag<double> d;
  const hn::RebindToUnsigned<decltype(d)> u;
  const size_t lanes = hn::Lanes(d);
  size_t k = 0;
  for (; k + lanes <= n; k += lanes) {
    auto most = hn::Set(d, -std::numeric_limits<double>::infinity());
    auto arg = hn::Zero(u);
    for (size_t j = 0; j < n; ++j) {
      const auto s = hn::Add(hn::Set(d, x[j]), load_double(d, matrix + j * n + k));
      const auto more = hn::Gt(s, most);
      most = hn::IfThenElse(more, s, most);
      arg = hn::IfThenElse(hn::RebindMask(u, more), hn::Set(u, j), arg);
    }
    hn::StoreU(most, d, best + k);
    hn::StoreU(arg, u, from + k);
  }
  for (; k < n; ++k) {
    best[k] = -std::numeric_limits<double>::infinity();
    from[k] = 0;
    for (size_t j = 0; j < n; ++j) {
      const double s = x[j] + static_cast<double>(matrix[j * n + k]);
      if (s > best[k]) best[k] = s, from[k] = j;
    }
  }
}

// Highway exports functions, not templates.
#define SELFNORM_CHAIN_KERNELS(Real, name)                                                             \
  size_t padded_width_##name(size_t n) { return padded_width_t<Real>(n); }                             \
  SumLeast scaled_product_##name(LabelSpace s, const Real* x, const Real* m, const Real* f, Real* o) { \
    return scaled_product_t(s, x, m, f, o);                                                            \
  }                                                                                                    \
  double listed_product_##name(LabelSpace s, const Real* x, const Real* m, const ListedRows<Real>& r,  \
                               const Real* f, Real* o) {                                               \
    return listed_product_t(s, x, m, r, f, o);                                                         \
  }                                                                                                    \
  void add_outer_##name(LabelSpace s, size_t n, const Real* x, const Real* y, Real* m) {               \
    add_outer_t(s, n, x, y, m);                                                                        \
  }                                                                                                    \
  double multiply_rows_##name(LabelSpace s, double a, const Real* x, const Real* y, Real* o) {         \
    return multiply_rows_t(s, a, x, y, o);                                                             \
  }                                                                                                    \
  void max_plus_##name(const double* x, const Real* m, size_t n, double* b, uint64_t* f) {             \
    max_plus_t(x, m, n, b, f);                                                                         \
  }
SELFNORM_CHAIN_KERNELS(float, float)
SELFNORM_CHAIN_KERNELS(double, double)
#undef SELFNORM_CHAIN_KERNELS

}  // namespace HWY_NAMESPACE
}  // namespace selfnorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace selfnorm {

#define SELFNORM_CHAIN_DISPATCH(Real, name)                                                                 \
  HWY_EXPORT(padded_width_##name);                                                                          \
  HWY_EXPORT(scaled_product_##name);                                                                        \
  HWY_EXPORT(listed_product_##name);                                                                        \
  HWY_EXPORT(add_outer_##name);                                                                             \
  HWY_EXPORT(multiply_rows_##name);                                                                         \
  HWY_EXPORT(max_plus_##name);                                                                              \
  template <>                                                                                               \
  size_t padded_width<Real>(size_t n) {                                                                     \
    return HWY_DYNAMIC_DISPATCH(padded_width_##name)(n);                                                    \
  }                                                                                                         \
  template <>                                                                                               \
  SumLeast scaled_product(LabelSpace s, const Real* x, const Real* matrix, const Real* factor, Real* out) { \
    return HWY_DYNAMIC_DISPATCH(scaled_product_##name)(s, x, matrix, factor, out);                          \
  }                                                                                                         \
  template <>                                                                                               \
  double listed_product(LabelSpace s, const Real* x, const Real* matrix, const ListedRows<Real>& rows,      \
                        const Real* factor, Real* out) {                                                    \
    return HWY_DYNAMIC_DISPATCH(listed_product_##name)(s, x, matrix, rows, factor, out);                    \
  }                                                                                                         \
  template <>                                                                                               \
  void add_outer(LabelSpace s, size_t n, const Real* x, const Real* y, Real* matrix) {                      \
    HWY_DYNAMIC_DISPATCH(add_outer_##name)(s, n, x, y, matrix);                                             \
  }                                                                                                         \
  template <>                                                                                               \
  double multiply_rows(LabelSpace s, double a, const Real* x, const Real* y, Real* out) {                   \
    return HWY_DYNAMIC_DISPATCH(multiply_rows_##name)(s, a, x, y, out);                                     \
  }                                                                                                         \
  template <>                                                                                               \
  void max_plus(const double* x, const Real* matrix, size_t n, double* best, uint64_t* from) {              \
    HWY_DYNAMIC_DISPATCH(max_plus_##name)(x, matrix, n, best, from);                                        \
  }
SELFNORM_CHAIN_DISPATCH(float, float)
SELFNORM_CHAIN_DISPATCH(double, double)
#undef SELFNORM_CHAIN_DISPATCH

}  // namespace selfnorm
#endif
