#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/math/activation.cc"
#include <hwy/foreach_target.h>
//
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "math/activation.h"

HWY_BEFORE_NAMESPACE();
namespace selfnorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

HWY_INLINE V constant(float x) { return hn::Set(D(), x); }

// f, f', f'', f''' at one vector; the compiler drops what is not stored.
struct Jet {
  V value, d1, d2, d3;
};

// sigma(z) with exp(-z) kept finite: sigma(-87) = 2^-125. Max and Min may lose a NaN, z does not.
HWY_INLINE V sigma(V z) {
  const V e = hn::Exp(D(), hn::Min(hn::Neg(z), constant(87)));
  return hn::Div(constant(1), hn::Add(constant(1), e));
}

// sigma, sigma', sigma'', sigma'''.
HWY_INLINE Jet sigma_jet(V s) {
  const V one = constant(1), two = constant(2);
  const V tilt = hn::NegMulAdd(two, s, one);  // 1 - 2 sigma
  Jet out;
  out.value = s;
  out.d1 = hn::Mul(s, hn::Sub(one, s));
  out.d2 = hn::Mul(out.d1, tilt);
  out.d3 = hn::NegMulAdd(hn::Mul(two, out.d1), out.d1, hn::Mul(out.d2, tilt));
  return out;
}

struct Silu {
  HWY_INLINE Jet operator()(V z) const {
    const Jet s = sigma_jet(sigma(z));
    return {hn::Mul(z, s.value), hn::MulAdd(z, s.d1, s.value), hn::MulAdd(z, s.d2, hn::Add(s.d1, s.d1)),
            hn::MulAdd(z, s.d3, hn::Mul(constant(3), s.d2))};
  }
};

struct Relu {
  HWY_INLINE Jet operator()(V z) const {
    const auto is_low = hn::Le(z, hn::Zero(D()));
    const V none = hn::IfThenElse(hn::IsNaN(z), z, hn::Zero(D()));
    return {hn::IfThenZeroElse(is_low, z),
            hn::IfThenElse(hn::IsNaN(z), z, hn::IfThenZeroElse(is_low, constant(1))), none, none};
  }
};

struct Tanh {
  HWY_INLINE Jet operator()(V z) const {
    const V t = hn::IfThenElse(hn::IsNaN(z), z, hn::Tanh(D(), hn::Clamp(z, constant(-20), constant(20))));
    const V square = hn::Mul(t, t), d1 = hn::Sub(constant(1), square);
    return {t, d1, hn::Mul(constant(-2), hn::Mul(t, d1)),
            hn::Mul(d1, hn::MulSub(constant(6), square, constant(2)))};
  }
};

struct Softplus {
  HWY_INLINE Jet operator()(V z) const {
    const Jet s = sigma_jet(hn::IfThenElse(hn::IsNaN(z), z, sigma(z)));
    const V e = hn::Exp(D(), hn::Max(hn::Neg(hn::Abs(z)), constant(-87)));
    const V value = hn::Add(hn::Max(z, hn::Zero(D())), hn::Log1p(D(), e));
    return {hn::IfThenElse(hn::IsNaN(z), z, value), s.value, s.d1, s.d2};
  }
};

struct Gelu {
  // erfc(x) = (a1 t + .. + a5 t^5) exp(-x^2) for x >= 0, t = 1 / (1 + p x); here x = |z| / sqrt 2.
  HWY_INLINE Jet operator()(V z) const {
    const V size = hn::Abs(z);
    const V square = hn::Mul(z, z);
    const V e = hn::Exp(D(), hn::Max(hn::Mul(constant(-0.5f), square), constant(-87)));
    const V t = hn::Div(constant(1), hn::MulAdd(constant(0.3275911f * 0.70710678f), size, constant(1)));
    V poly = hn::MulAdd(constant(1.061405429f), t, constant(-1.453152027f));
    poly = hn::MulAdd(poly, t, constant(1.421413741f));
    poly = hn::MulAdd(poly, t, constant(-0.284496736f));
    poly = hn::MulAdd(poly, t, constant(0.254829592f));
    const V tail = hn::Mul(hn::Mul(constant(0.5f), e), hn::Mul(poly, t));  // Phi(-|z|)
    const V below = hn::IfThenElse(hn::Lt(z, hn::Zero(D())), tail, hn::Sub(constant(1), tail));
    // Beyond |z| = 13, phi times any power of z here is below 2^-115.
    const V bounded = hn::IfThenElse(hn::IsNaN(z), z, hn::Clamp(z, constant(-13), constant(13)));
    const V density = hn::IfThenElseZero(hn::Le(size, constant(13)), hn::Mul(constant(0.39894228f), e));
    const V bounded_square = hn::Mul(bounded, bounded);
    return {hn::Mul(z, below), hn::MulAdd(bounded, density, below),
            hn::Mul(density, hn::Sub(constant(2), bounded_square)),
            hn::Mul(density, hn::Mul(bounded, hn::Sub(bounded_square, constant(4))))};
  }
};

template <class F, size_t kOutputs>
HWY_INLINE void apply_row(const F& f, size_t n, const float* z, float* const (&out)[kOutputs]) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  const auto take = [&](const float* from, float* const(&to)[kOutputs]) HWY_ATTR {
    const Jet jet = f(hn::LoadU(d, from));
    hn::StoreU(jet.value, d, to[0]);
    if constexpr (kOutputs > 1) hn::StoreU(jet.d1, d, to[1]);
    if constexpr (kOutputs > 2) {
      hn::StoreU(jet.d2, d, to[2]);
      hn::StoreU(jet.d3, d, to[3]);
    }
  };
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    float* to[kOutputs];
    for (size_t o = 0; o < kOutputs; ++o) to[o] = out[o] + i;
    take(z + i, to);
  }
  if (i == n) return;
  HWY_ALIGN float rest[HWY_LANES(float)] = {};
  HWY_ALIGN float results[kOutputs][HWY_LANES(float)];
  std::copy(z + i, z + n, rest);
  float* to[kOutputs];
  for (size_t o = 0; o < kOutputs; ++o) to[o] = results[o];
  take(rest, to);
  for (size_t o = 0; o < kOutputs; ++o) std::copy_n(results[o], n - i, out[o] + i);
}

template <class F>
void apply(const F& f, const RowBlock& block, const float* z, const ActivationJet& out) {
  for (size_t r = 0; r < block.rows; ++r) {
    const size_t at = r * block.stride;
    if (out.d2 != nullptr) {
      apply_row<F, 4>(f, block.columns, z + at, {out.value + at, out.d1 + at, out.d2 + at, out.d3 + at});
    } else if (out.d1 != nullptr) {
      apply_row<F, 2>(f, block.columns, z + at, {out.value + at, out.d1 + at});
    } else {
      apply_row<F, 1>(f, block.columns, z + at, {out.value + at});
    }
  }
}

void activation(Activation f, const RowBlock& block, const float* z, const ActivationJet& out) {
  switch (f) {
    case Activation::silu:
      return apply(Silu(), block, z, out);
    case Activation::relu:
      return apply(Relu(), block, z, out);
    case Activation::tanh:
      return apply(Tanh(), block, z, out);
    case Activation::softplus:
      return apply(Softplus(), block, z, out);
    case Activation::gelu:
      return apply(Gelu(), block, z, out);
  }
}

template <bool kSums>
void multiply_t(const RowBlock& block, const float* x, const float* y, float* product, float* sums) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  for (size_t r = 0; r < block.rows; ++r) {
    const size_t at = r * block.stride;
    size_t i = 0;
    for (; i + lanes <= block.columns; i += lanes) {
      const V value = hn::Mul(hn::LoadU(d, x + at + i), hn::LoadU(d, y + at + i));
      hn::StoreU(value, d, product + at + i);
      if (kSums) hn::StoreU(hn::Add(value, hn::LoadU(d, sums + i)), d, sums + i);
    }
    for (; i < block.columns; ++i) {
      product[at + i] = x[at + i] * y[at + i];
      if (kSums) sums[i] += product[at + i];
    }
  }
}
void multiply(const RowBlock& block, const float* x, const float* y, float* product, float* sums) {
  if (sums == nullptr) return multiply_t<false>(block, x, y, product, sums);
  multiply_t<true>(block, x, y, product, sums);
}

// Highway's range reduction holds up to |z| = 39000; beyond it, or not finite, std's.
void cos_and_sin(size_t n, const float* z, float* cosine, float* sine) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const V v = hn::LoadU(d, z + i);
    if (!hn::AllTrue(d, hn::Le(hn::Abs(v), constant(39000)))) {
      for (size_t j = i; j < i + lanes; ++j) cosine[j] = std::cos(z[j]), sine[j] = std::sin(z[j]);
      continue;
    }
    hn::StoreU(hn::Cos(d, v), d, cosine + i);
    hn::StoreU(hn::Sin(d, v), d, sine + i);
  }
  for (; i < n; ++i) cosine[i] = std::cos(z[i]), sine[i] = std::sin(z[i]);
}

}  // namespace HWY_NAMESPACE
}  // namespace selfnorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace selfnorm {

HWY_EXPORT(activation);
HWY_EXPORT(multiply);
HWY_EXPORT(cos_and_sin);

std::vector<std::string> activation_names() { return {"silu", "relu", "tanh", "softplus", "gelu"}; }

Activation activation_of(const std::string& name) {
  const std::vector<std::string> names = activation_names();
  require_one_of("activation", name, names);
  return static_cast<Activation>(std::find(names.begin(), names.end(), name) - names.begin());
}

void activate(Activation f, const RowBlock& block, const float* z, float* value, float* slope) {
  HWY_DYNAMIC_DISPATCH(activation)(f, block, z, {value, slope, nullptr, nullptr});
}

void activate_jet(Activation f, const RowBlock& block, const float* z, const ActivationJet& out) {
  HWY_DYNAMIC_DISPATCH(activation)(f, block, z, out);
}

void multiply_rows(const RowBlock& block, const float* x, const float* y, float* product, float* sums) {
  HWY_DYNAMIC_DISPATCH(multiply)(block, x, y, product, sums);
}

void cos_sin(size_t n, const float* z, float* cosine, float* sine) {
  HWY_DYNAMIC_DISPATCH(cos_and_sin)(n, z, cosine, sine);
}

}  // namespace selfnorm
#endif
