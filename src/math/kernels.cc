#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/math/kernels.cc"
#include <hwy/foreach_target.h>
//
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cmath>
#include <limits>

#include "selfnorm/math/kernels.h"

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
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::Sub(hn::LoadU(d, x + i), shift);
    const auto e = hn::IfThenElse(hn::IsNaN(v), v, hn::Exp(d, v));  // Exp alone turns NaN into a number
    total = hn::Add(total, e);
    hn::StoreU(e, d, x + i);
  }
  double sum = static_cast<double>(hn::GetLane(hn::SumOfLanes(d, total)));
  for (; i < n; ++i) {
    x[i] = std::exp(x[i] - max);
    sum += static_cast<double>(x[i]);
  }
  return {static_cast<double>(max), sum};
}

LogSumExp exp_float(float* x, size_t n) { return exp_in_place_t(x, n); }
LogSumExp exp_double(double* x, size_t n) { return exp_in_place_t(x, n); }

double dot_float(const float* x, const float* y, size_t n) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> half;
  const size_t lanes = hn::Lanes(d);
  auto s0 = hn::Zero(d);
  auto s1 = hn::Zero(d);
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    s0 = hn::MulAdd(hn::PromoteTo(d, hn::LoadU(half, x + i)), hn::PromoteTo(d, hn::LoadU(half, y + i)), s0);
    s1 = hn::MulAdd(hn::PromoteTo(d, hn::LoadU(half, x + i + lanes)),
                    hn::PromoteTo(d, hn::LoadU(half, y + i + lanes)), s1);
  }
  double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(s0, s1)));
  for (; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  return sum;
}

double dot_double(const double* x, const double* y, size_t n) {
  const hn::ScalableTag<double> d;
  const size_t lanes = hn::Lanes(d);
  auto s0 = hn::Zero(d);
  auto s1 = hn::Zero(d);
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    s0 = hn::MulAdd(hn::LoadU(d, x + i), hn::LoadU(d, y + i), s0);
    s1 = hn::MulAdd(hn::LoadU(d, x + i + lanes), hn::LoadU(d, y + i + lanes), s1);
  }
  double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(s0, s1)));
  for (; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

template <class Real>
void add_scaled_t(Real a, const Real* HWY_RESTRICT x, Real* HWY_RESTRICT y, size_t n) {
  const hn::ScalableTag<Real> d;
  const size_t lanes = hn::Lanes(d);
  const auto factor = hn::Set(d, a);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::MulAdd(factor, hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, y + i);
  }
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

// Four vectors of outputs stay in registers while the row's non-zeros stream past.
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
  for (; k + lanes <= width; k += lanes) {
    auto a = hn::LoadU(d, out + k);
    for (size_t j = 0; j < x.nnz; ++j) {
      a = hn::MulAdd(hn::Set(d, static_cast<Real>(x.value[j])), hn::LoadU(d, weight_row(j) + k), a);
    }
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
  for (size_t j = 0; j < x.nnz; ++j) {
    add_scaled_t(static_cast<Real>(x.value[j]), d, gradient + stride * x.column[j], width);
  }
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
HWY_EXPORT(dot_float);
HWY_EXPORT(dot_double);
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
double dot(const float* x, const float* y, size_t n) { return HWY_DYNAMIC_DISPATCH(dot_float)(x, y, n); }
double dot(const double* x, const double* y, size_t n) { return HWY_DYNAMIC_DISPATCH(dot_double)(x, y, n); }
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
