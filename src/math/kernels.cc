#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/math/kernels.cc"
#include <hwy/foreach_target.h>
//
#include <hwy/cache_control.h>
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cmath>
#include <limits>

#include "math/kernels.h"
#include "math/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace selfnorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class Real>
Real max_of(const Real* x, size_t n) {
  const hn::ScalableTag<Real> d;
  const size_t lanes = hn::Lanes(d);
  constexpr Real kLowest = -std::numeric_limits<Real>::infinity();
  auto best = hn::Set(d, kLowest);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) best = hn::Max(best, hn::LoadU(d, x + i));
  Real result = hn::GetLane(hn::MaxOfLanes(d, best));
  for (; i < n; ++i) result = x[i] > result ? x[i] : result;
  return result;
}

template <class Real>
LogSumExp exp_in_place_t(Real* x, size_t n) {
  const hn::ScalableTag<Real> d;
  const size_t lanes = hn::Lanes(d);
  constexpr Real kLowest = -std::numeric_limits<Real>::infinity();
  const Real max = max_of(x, n);
  if (max == -std::numeric_limits<Real>::infinity()) {
    bool nan = false;
    for (size_t i = 0; i < n; ++i) {
      nan |= std::isnan(x[i]);
      x[i] = 0;
    }
    return {nan ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(max), 0};
  }
  const auto shift = hn::Set(d, max);
  auto total = hn::Zero(d);
  const auto exponential = [&](const Real* at) HWY_ATTR {
    const auto z = hn::Sub(hn::LoadU(d, at), shift);
    const auto e = hn::IfThenElse(hn::IsNaN(z), z, hn::Exp(d, z));  // Exp alone maps NaN to 0
    total = hn::Add(total, e);
    return e;
  };
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(exponential(x + i), d, x + i);
  if (i < n) {
    HWY_ALIGN Real rest[HWY_LANES(Real)];
    for (size_t j = 0; j < lanes; ++j) rest[j] = i + j < n ? x[i + j] : kLowest;
    hn::Store(exponential(rest), d, rest);
    for (size_t j = 0; i + j < n; ++j) x[i + j] = rest[j];
  }
  return {static_cast<double>(max), static_cast<double>(hn::GetLane(hn::SumOfLanes(d, total)))};
}

LogSumExp exp_float(float* x, size_t n) { return exp_in_place_t(x, n); }
LogSumExp exp_double(double* x, size_t n) { return exp_in_place_t(x, n); }

SoftmaxMoments softmax_moments_float(const float* x, size_t n) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const float max = max_of(x, n);
  SoftmaxMoments out;
  out.total.max = static_cast<double>(max);
  if (std::isinf(max)) {
    for (size_t i = 0; i < n; ++i)
      if (std::isnan(x[i])) out.total.max = std::numeric_limits<double>::quiet_NaN();
    while (out.best < n && x[out.best] != max) ++out.best;
    return out;
  }
  const auto shift = hn::Set(d, max);
  const auto floor = hn::Set(d, -1e4f);  // keeps 0 * inf out
  auto sum = hn::Zero(d);
  auto shifted = hn::Zero(d);
  const auto take = [&](const float* at) HWY_ATTR {
    const auto z = hn::Sub(hn::LoadU(d, at), shift);
    const auto bounded = hn::IfThenElse(hn::IsNaN(z), z, hn::Max(z, floor));
    const auto e = hn::IfThenElse(hn::IsNaN(z), z, hn::Exp(d, bounded));  // Exp alone maps NaN to 0
    sum = hn::Add(sum, e);
    shifted = hn::MulAdd(e, bounded, shifted);
  };
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) take(x + i);
  if (i < n) {
    HWY_ALIGN float rest[HWY_LANES(float)];
    for (size_t j = 0; j < lanes; ++j)
      rest[j] = i + j < n ? x[i + j] : -std::numeric_limits<float>::infinity();
    take(rest);
  }
  out.total.sum = static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum)));
  out.shifted = static_cast<double>(hn::GetLane(hn::SumOfLanes(d, shifted)));
  if (std::isnan(out.total.sum)) out.total.max = std::numeric_limits<double>::quiet_NaN();
  size_t block = 0;
  while (block + lanes <= n && hn::AllFalse(d, hn::Eq(hn::LoadU(d, x + block), shift))) block += lanes;
  for (out.best = block; out.best < n && x[out.best] != max;) ++out.best;
  return out;
}

template <class Real>
double dot_t(const Real* x, const Real* y, size_t n) {
  const hn::ScalableTag<double> d;
  const size_t lanes = hn::Lanes(d);
  auto s0 = hn::Zero(d);
  auto s1 = hn::Zero(d);
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    s0 = hn::MulAdd(load_double(d, x + i), load_double(d, y + i), s0);
    s1 = hn::MulAdd(load_double(d, x + i + lanes), load_double(d, y + i + lanes), s1);
  }
  double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(s0, s1)));
  for (; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  return sum;
}
double dot_float(const float* x, const float* y, size_t n) { return dot_t(x, y, n); }
double dot_double(const double* x, const double* y, size_t n) { return dot_t(x, y, n); }

// a and b stay in cache while v comes from memory, from many places in turn, where prefetching fails.
template <class Real>
ProductPair dot_pair_t(const Real* v, const Real* a, const Real* b, size_t n) {
  const hn::ScalableTag<double> d;
  const size_t lanes = hn::Lanes(d);
  constexpr size_t kAhead = 4096 / sizeof(Real);
  auto a0 = hn::Zero(d);
  auto a1 = hn::Zero(d);
  auto b0 = hn::Zero(d);
  auto b1 = hn::Zero(d);
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    hwy::Prefetch(v + i + kAhead);
    const auto v0 = load_double(d, v + i);
    const auto v1 = load_double(d, v + i + lanes);
    a0 = hn::MulAdd(v0, load_double(d, a + i), a0);
    a1 = hn::MulAdd(v1, load_double(d, a + i + lanes), a1);
    b0 = hn::MulAdd(v0, load_double(d, b + i), b0);
    b1 = hn::MulAdd(v1, load_double(d, b + i + lanes), b1);
  }
  ProductPair sum{hn::GetLane(hn::SumOfLanes(d, hn::Add(a0, a1))),
                  hn::GetLane(hn::SumOfLanes(d, hn::Add(b0, b1)))};
  for (; i < n; ++i) {
    sum.a += static_cast<double>(v[i]) * static_cast<double>(a[i]);
    sum.b += static_cast<double>(v[i]) * static_cast<double>(b[i]);
  }
  return sum;
}
ProductPair dot_pair_float(const float* v, const float* a, const float* b, size_t n) {
  return dot_pair_t(v, a, b, n);
}
ProductPair dot_pair_double(const double* v, const double* a, const double* b, size_t n) {
  return dot_pair_t(v, a, b, n);
}

template <class Real>
void add_scaled_t(Real a, const Real* HWY_RESTRICT x, Real* HWY_RESTRICT y, size_t n) {
  const hn::ScalableTag<Real> d;
  const size_t lanes = hn::Lanes(d);
  const auto factor = hn::Set(d, a);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(hn::MulAdd(factor, hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, y + i);
  for (; i < n; ++i) y[i] += a * x[i];
}
void add_scaled_float(float a, const float* x, float* y, size_t n) { add_scaled_t(a, x, y, n); }
void add_scaled_double(double a, const double* x, double* y, size_t n) { add_scaled_t(a, x, y, n); }

template <class Real>
void scale_t(Real a, Real* x, size_t n) {
  const hn::ScalableTag<Real> d;
  const size_t lanes = hn::Lanes(d);
  const auto factor = hn::Set(d, a);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::Mul(factor, hn::LoadU(d, x + i)), d, x + i);
  for (; i < n; ++i) x[i] *= a;
}
void scale_float(float a, float* x, size_t n) { scale_t(a, x, n); }
void scale_double(double a, double* x, size_t n) { scale_t(a, x, n); }

// Four (then two, then one) vectors of outputs stay in registers while the row's non-zeros stream past.
template <class Real>
void add_sparse_product_t(const SparseView& x, const Real* HWY_RESTRICT weights, size_t stride,
                          const uint32_t* rows, Real* HWY_RESTRICT out, size_t width) {
  const hn::ScalableTag<Real> d;
  const size_t lanes = hn::Lanes(d);
  const auto weight_row = [&](size_t j) {
    return weights + stride * (rows == nullptr ? x.column[j] : rows[x.column[j]]);
  };
  size_t k = 0;
  for (; k + 4 * lanes <= width; k += 4 * lanes) {
    auto a0 = hn::LoadU(d, out + k);
    auto a1 = hn::LoadU(d, out + k + lanes);
    auto a2 = hn::LoadU(d, out + k + 2 * lanes);
    auto a3 = hn::LoadU(d, out + k + 3 * lanes);
    for (size_t j = 0; j < x.nnz; ++j) {
      const Real* HWY_RESTRICT w = weight_row(j) + k;
      const auto v = hn::Set(d, static_cast<Real>(x.value[j]));
      a0 = hn::MulAdd(v, hn::LoadU(d, w), a0);
      a1 = hn::MulAdd(v, hn::LoadU(d, w + lanes), a1);
      a2 = hn::MulAdd(v, hn::LoadU(d, w + 2 * lanes), a2);
      a3 = hn::MulAdd(v, hn::LoadU(d, w + 3 * lanes), a3);
    }
    hn::StoreU(a0, d, out + k);
    hn::StoreU(a1, d, out + k + lanes);
    hn::StoreU(a2, d, out + k + 2 * lanes);
    hn::StoreU(a3, d, out + k + 3 * lanes);
  }
  for (; k + 2 * lanes <= width; k += 2 * lanes) {
    auto a0 = hn::LoadU(d, out + k);
    auto a1 = hn::LoadU(d, out + k + lanes);
    for (size_t j = 0; j < x.nnz; ++j) {
      const Real* HWY_RESTRICT w = weight_row(j) + k;
      const auto v = hn::Set(d, static_cast<Real>(x.value[j]));
      a0 = hn::MulAdd(v, hn::LoadU(d, w), a0);
      a1 = hn::MulAdd(v, hn::LoadU(d, w + lanes), a1);
    }
    hn::StoreU(a0, d, out + k);
    hn::StoreU(a1, d, out + k + lanes);
  }
  for (; k + lanes <= width; k += lanes) {
    auto a = hn::LoadU(d, out + k);
    for (size_t j = 0; j < x.nnz; ++j)
      a = hn::MulAdd(hn::Set(d, static_cast<Real>(x.value[j])), hn::LoadU(d, weight_row(j) + k), a);
    hn::StoreU(a, d, out + k);
  }
  for (size_t j = 0; k < width && j < x.nnz; ++j) {
    const Real* w = weight_row(j);
    for (size_t t = k; t < width; ++t) out[t] += static_cast<Real>(x.value[j]) * w[t];
  }
}
void add_sparse_product_float(const SparseView& x, const float* w, size_t s, const uint32_t* r, float* o,
                              size_t n) {
  add_sparse_product_t(x, w, s, r, o, n);
}
void add_sparse_product_double(const SparseView& x, const double* w, size_t s, const uint32_t* r, double* o,
                               size_t n) {
  add_sparse_product_t(x, w, s, r, o, n);
}

template <class Real>
void add_sparse_outer_t(const SparseView& x, const Real* d, Real* gradient, size_t stride, size_t width) {
  for (size_t j = 0; j < x.nnz; ++j)
    add_scaled_t(static_cast<Real>(x.value[j]), d, gradient + stride * x.column[j], width);
}
void add_sparse_outer_float(const SparseView& x, const float* d, float* g, size_t s, size_t n) {
  add_sparse_outer_t(x, d, g, s, n);
}
void add_sparse_outer_double(const SparseView& x, const double* d, double* g, size_t s, size_t n) {
  add_sparse_outer_t(x, d, g, s, n);
}

}  // namespace HWY_NAMESPACE
}  // namespace selfnorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace selfnorm {

HWY_EXPORT(exp_float);
HWY_EXPORT(exp_double);
HWY_EXPORT(softmax_moments_float);
HWY_EXPORT(dot_float);
HWY_EXPORT(dot_double);
HWY_EXPORT(dot_pair_float);
HWY_EXPORT(dot_pair_double);
HWY_EXPORT(add_scaled_float);
HWY_EXPORT(add_scaled_double);
HWY_EXPORT(scale_float);
HWY_EXPORT(scale_double);
HWY_EXPORT(add_sparse_product_float);
HWY_EXPORT(add_sparse_product_double);
HWY_EXPORT(add_sparse_outer_float);
HWY_EXPORT(add_sparse_outer_double);

LogSumExp exp_in_place(float* x, size_t n) { return HWY_DYNAMIC_DISPATCH(exp_float)(x, n); }
LogSumExp exp_in_place(double* x, size_t n) { return HWY_DYNAMIC_DISPATCH(exp_double)(x, n); }
SoftmaxMoments softmax_moments(const float* x, size_t n) {
  return HWY_DYNAMIC_DISPATCH(softmax_moments_float)(x, n);
}
void SoftmaxMoments::append(const SoftmaxMoments& other, uint64_t first) {
  const double before = total.max, later = other.total.max;
  if (later > before || (total.sum == 0 && other.total.sum > 0)) best = first + other.best;
  const double left = total.sum, right = other.total.sum;
  total.merge(other.total);
  // sum e^(x - M) (x - M) = e^(m - M) (shifted + (m - M) sum), M the new maximum; an empty part adds 0.
  const auto rebased = [this](double part, double sum, double max) {
    return sum > 0 ? std::exp(max - total.max) * (part + (max - total.max) * sum) : 0;
  };
  shifted = rebased(shifted, left, before) + rebased(other.shifted, right, later);
}
double dot(const float* x, const float* y, size_t n) { return HWY_DYNAMIC_DISPATCH(dot_float)(x, y, n); }
double dot(const double* x, const double* y, size_t n) { return HWY_DYNAMIC_DISPATCH(dot_double)(x, y, n); }
ProductPair dot_pair(const float* v, const float* a, const float* b, size_t n) {
  return HWY_DYNAMIC_DISPATCH(dot_pair_float)(v, a, b, n);
}
ProductPair dot_pair(const double* v, const double* a, const double* b, size_t n) {
  return HWY_DYNAMIC_DISPATCH(dot_pair_double)(v, a, b, n);
}
void add_scaled(float a, const float* x, float* y, size_t n) {
  HWY_DYNAMIC_DISPATCH(add_scaled_float)(a, x, y, n);
}
void add_scaled(double a, const double* x, double* y, size_t n) {
  HWY_DYNAMIC_DISPATCH(add_scaled_double)(a, x, y, n);
}
void scale(float a, float* x, size_t n) { HWY_DYNAMIC_DISPATCH(scale_float)(a, x, n); }
void scale(double a, double* x, size_t n) { HWY_DYNAMIC_DISPATCH(scale_double)(a, x, n); }
void add_sparse_product(const SparseView& x, const float* weights, size_t stride, const uint32_t* rows,
                        float* out, size_t width) {
  HWY_DYNAMIC_DISPATCH(add_sparse_product_float)(x, weights, stride, rows, out, width);
}
void add_sparse_product(const SparseView& x, const double* weights, size_t stride, const uint32_t* rows,
                        double* out, size_t width) {
  HWY_DYNAMIC_DISPATCH(add_sparse_product_double)(x, weights, stride, rows, out, width);
}
void add_sparse_outer(const SparseView& x, const float* d, float* gradient, size_t stride, size_t width) {
  HWY_DYNAMIC_DISPATCH(add_sparse_outer_float)(x, d, gradient, stride, width);
}
void add_sparse_outer(const SparseView& x, const double* d, double* gradient, size_t stride, size_t width) {
  HWY_DYNAMIC_DISPATCH(add_sparse_outer_double)(x, d, gradient, stride, width);
}

}  // namespace selfnorm
#endif
