#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/proposal/conditional/mixture_kernels.cc"
#include <hwy/foreach_target.h>
//
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <limits>
#include <numbers>

#include "proposal/conditional/mixture_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace selfnorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<double, kMixtureVector>;
using V = hn::Vec<D>;

HWY_INLINE V constant(double x) { return hn::Set(D(), x); }

HWY_INLINE V offset(const MixtureTerms& terms, size_t kj, const double* y) {
  return hn::Mul(hn::Sub(hn::LoadU(D(), y), constant(terms.anchor[kj])), constant(terms.inverse[kj]));
}

// e^x for x <= 0, within 1e-14 of itself down to -700 and e^-700 below, in half the time of Highway's: x = n
// log 2 + r, |r| <= log(2) / 2, Taylor's polynomial of degree 11 in r, and n added to the exponent's bits.
HWY_INLINE V exp_below(V x) {
  const D d;
  const hn::RebindToSigned<D> di;
  const V bounded = hn::Max(x, constant(-700));
  const V shifter = constant(0x1.8p52);  // leaves the nearest integer in the low bits
  const V shifted = hn::MulAdd(bounded, constant(std::numbers::log2e), shifter);
  const V r = hn::NegMulAdd(hn::Sub(shifted, shifter), constant(std::numbers::ln2), bounded);
  const V r2 = hn::Mul(r, r), r4 = hn::Mul(r2, r2);
  const auto pair = [&](double low, double high)
                        HWY_ATTR { return hn::MulAdd(constant(1 / high), r, constant(1 / low)); };
  const V low = hn::MulAdd(pair(2, 6), r2, hn::Add(constant(1), r));
  const V middle = hn::MulAdd(pair(720, 5040), r2, pair(24, 120));
  const V high = hn::MulAdd(pair(3628800, 39916800), r2, pair(40320, 362880));
  const V poly = hn::MulAdd(hn::MulAdd(high, r4, middle), r4, low);
  return hn::BitCast(d, hn::Add(hn::BitCast(di, poly), hn::ShiftLeft<52>(hn::BitCast(di, shifted))));
}

// t_k of one vector of points.
template <size_t kDimension>
HWY_INLINE V term(const MixtureTerms& terms, size_t k, const double* y) {
  const size_t dimension = kDimension == 0 ? terms.dimension : kDimension;
  V t = constant(terms.constant[k]);
  for (size_t j = 0; j < dimension; ++j) {
    const V tau = offset(terms, k * dimension + j, y + j * kMixtureBlock);
    t = hn::NegMulAdd(tau, hn::MulAdd(tau, constant(0.5), constant(terms.tilt[k * dimension + j])), t);
  }
  return t;
}

template <size_t kDimension>
HWY_INLINE void shares_of(const MixtureTerms& terms, size_t n, const double* y, const MixtureShares& out) {
  const D d;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    V most = constant(-std::numeric_limits<double>::infinity());
    for (size_t k = 0; k < terms.count; ++k) {
      const V t = term<kDimension>(terms, k, y + i);
      most = hn::Max(most, t);
      hn::StoreU(t, d, out.share + k * kMixtureBlock + i);
    }
    V sum = hn::Zero(d);
    for (size_t k = 0; k < terms.count; ++k) {
      double* at = out.share + k * kMixtureBlock + i;
      const V e = exp_below(hn::Sub(hn::LoadU(d, at), most));
      sum = hn::Add(sum, e);
      hn::StoreU(e, d, at);
    }
    hn::StoreU(hn::Add(most, hn::Log(d, sum)), d, out.log_sum + i);
    hn::StoreU(hn::Div(constant(1), sum), d, out.inverse_sum + i);
  }
}

void shares_at(const MixtureTerms& terms, size_t n, const double* y, const MixtureShares& out) {
  if (terms.dimension == 1) return shares_of<1>(terms, n, y, out);
  shares_of<0>(terms, n, y, out);
}

void moments_at(const MixtureTerms& terms, size_t n, const double* y, const double* share, const double* c,
                double* sums) {
  const D d;
  const auto total = [&](V v) HWY_ATTR { return hn::GetLane(hn::SumOfLanes(d, v)); };
  for (size_t k = 0; k < terms.count; ++k) {
    const auto weight = [&](size_t i) HWY_ATTR {
      return hn::Mul(hn::LoadU(d, c + i), hn::LoadU(d, share + k * kMixtureBlock + i));
    };
    V zeroth = hn::Zero(d);
    for (size_t i = 0; i < n; i += hn::Lanes(d)) zeroth = hn::Add(zeroth, weight(i));
    *sums++ += total(zeroth);
    for (size_t j = 0; j < terms.dimension; ++j) {
      V first = hn::Zero(d), second = hn::Zero(d);
      for (size_t i = 0; i < n; i += hn::Lanes(d)) {
        const V tau = offset(terms, k * terms.dimension + j, y + j * kMixtureBlock + i);
        const V part = hn::Mul(weight(i), tau);
        first = hn::Add(first, part);
        second = hn::MulAdd(part, tau, second);
      }
      *sums++ += total(first);
      *sums++ += total(second);
    }
  }
}

// e = exp(-|raw|): softplus = max(raw, 0) + log1p(e), sigma = (raw < 0 ? e : 1) / (1 + e).
void scales_of(size_t n, double least, const MixtureScales& out) {
  const D d;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const V raw = hn::LoadU(d, out.slope + i);
    const V e = hn::Exp(d, hn::Neg(hn::Abs(raw)));
    const V scale = hn::Add(constant(least), hn::Add(hn::Max(raw, hn::Zero(d)), hn::Log1p(d, e)));
    hn::StoreU(scale, d, out.scale + i);
    hn::StoreU(hn::Log(d, scale), d, out.log_scale + i);
    const V top = hn::IfThenElse(hn::Lt(raw, hn::Zero(d)), e, constant(1));
    hn::StoreU(hn::Div(top, hn::Add(constant(1), e)), d, out.slope + i);
  }
}

void log_sums_of(size_t n, const LogWeights& weights, double* a, const double* b) {
  const D d;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const V left = hn::Add(hn::LoadU(d, a + i), constant(weights.log_a));
    const V right = hn::Add(hn::LoadU(d, b + i), constant(weights.log_b));
    const V sum = hn::Add(left, right);  // NaN where one of them is
    const V most = hn::Max(left, right), fall = hn::Sub(hn::Min(left, right), most);
    const V out = hn::Add(most, hn::Log1p(d, exp_below(fall)));
    const auto is_plain = hn::Gt(most, constant(-std::numeric_limits<double>::infinity()));
    hn::StoreU(hn::IfThenElse(hn::IsNaN(sum), sum, hn::IfThenElse(is_plain, out, most)), d, a + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace selfnorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace selfnorm {

HWY_EXPORT(shares_at);
HWY_EXPORT(moments_at);
HWY_EXPORT(scales_of);
HWY_EXPORT(log_sums_of);

void mixture_shares(const MixtureTerms& terms, size_t n, const double* y, const MixtureShares& out) {
  HWY_DYNAMIC_DISPATCH(shares_at)(terms, n, y, out);
}
void mixture_moments(const MixtureTerms& terms, size_t n, const double* y, const double* share,
                     const double* c, double* sums) {
  HWY_DYNAMIC_DISPATCH(moments_at)(terms, n, y, share, c, sums);
}
void mixture_scales(size_t n, double least, const MixtureScales& out) {
  HWY_DYNAMIC_DISPATCH(scales_of)(n, least, out);
}
void log_weighted_sums(size_t n, const LogWeights& weights, double* a, const double* b) {
  HWY_DYNAMIC_DISPATCH(log_sums_of)(n, weights, a, b);
}

}  // namespace selfnorm
#endif
