// With e_i = exp(-|x_i|):  sigma(x) = (x < 0 ? e : 1) / (1 + e), and
//     sum_i softplus(x_i) = sum_i max(x_i, 0) + log prod_i (1 + e_i),
// one logarithm for so many factors as a double can hold, each being at most 2.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/math/sigmoid.cc"
#include <hwy/foreach_target.h>
//
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "math/sigmoid.h"

HWY_BEFORE_NAMESPACE();
namespace selfnorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 2^960 and its product with the lanes of the last vector are finite.
constexpr size_t kFactors = 960;

SigmoidSums sigmoid_in_place_double(double* x, size_t n) {
  const hn::ScalableTag<double> d;
  const size_t lanes = hn::Lanes(d);
  const auto zero = hn::Zero(d), one = hn::Set(d, 1.0);
  auto sigmoids = zero, positive = zero, product = one;
  SigmoidSums out;
  const auto take = [&](double* at, auto is_used) HWY_ATTR {
    const auto v = hn::LoadU(d, at);
    const auto size = hn::Abs(v);
    const auto e = hn::IfThenElse(hn::IsNaN(v), v, hn::Exp(d, hn::Neg(size)));  // Exp alone maps NaN to 0
    const auto whole = hn::Add(one, e);
    const auto sigmoid = hn::Div(hn::IfThenElse(hn::Lt(v, zero), e, one), whole);
    hn::StoreU(sigmoid, d, at);
    sigmoids = hn::Add(sigmoids, hn::IfThenElseZero(is_used, sigmoid));
    positive = hn::Add(positive, hn::IfThenElseZero(is_used, hn::Max(v, zero)));
    product = hn::IfThenElse(is_used, hn::Mul(product, whole), product);
  };
  const auto take_logarithm = [&]() HWY_ATTR {
    HWY_ALIGN double factor[HWY_LANES(double)];
    hn::Store(product, d, factor);
    for (size_t j = 1; j < lanes; ++j) factor[0] *= factor[j];
    out.softplus += std::log(factor[0]);
    product = one;
  };
  const auto all = hn::Eq(zero, zero);
  for (size_t i = 0; i < n;) {
    const size_t stop = std::min(n, i + kFactors);
    for (; i + lanes <= stop; i += lanes) take(x + i, all);
    if (i < stop && stop == n) {
      HWY_ALIGN double rest[HWY_LANES(double)] = {};
      std::copy(x + i, x + n, rest);
      take(rest, hn::FirstN(d, n - i));
      std::copy(rest, rest + (n - i), x + i);
      i = n;
    }
    take_logarithm();
  }
  out.sigmoid = hn::GetLane(hn::SumOfLanes(d, sigmoids));
  out.softplus += hn::GetLane(hn::SumOfLanes(d, positive));
  return out;
}

}  // namespace HWY_NAMESPACE
}  // namespace selfnorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace selfnorm {

HWY_EXPORT(sigmoid_in_place_double);

SigmoidSums sigmoid_in_place(double* x, size_t n) {
  return HWY_DYNAMIC_DISPATCH(sigmoid_in_place_double)(x, n);
}

}  // namespace selfnorm
#endif
