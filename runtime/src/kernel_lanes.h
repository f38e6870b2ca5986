// The kernels written once over a vector type `Lanes`; each kernels_<set>.cc includes this with its own Lanes
// and compiler flags. Everything is in an unnamed namespace and no standard C++ header is included, so that
// no function compiled for one instruction set can be linked in place of another's.
#pragma once

#include "crf_lanes.h"
#include "selfnorm/runtime/kernels.h"

namespace selfnorm::runtime {
namespace {

// A vector in memory, lanes from j on or one value.
template <class Lanes>
struct Stored {
  const float* x;

  Lanes lanes(size_t j) const { return Lanes::load(x + j); }
  float value(size_t j) const { return x[j]; }
};

// The units of a HiddenSum, computed as they are asked for.
template <class Lanes>
struct Hidden {
  HiddenSum sum;

  Lanes lanes(size_t j) const {
    auto q = Lanes::load_integers(sum.q[0] + j);
    for (size_t i = 1; i < sum.inputs; ++i) q = Lanes::add_integers(q, Lanes::load_integers(sum.q[i] + j));
    return max(fma(Lanes::from_integers(q), Lanes::load(sum.scale + j), Lanes::load(sum.bias + j)),
               Lanes::fill(0));
  }
  float value(size_t j) const {
    int32_t q = 0;
    for (size_t i = 0; i < sum.inputs; ++i) q += sum.q[i][j];
    const float h = static_cast<float>(q) * sum.scale[j] + sum.bias[j];
    return h > 0 ? h : 0;
  }
};

template <size_t width>
struct ZerosAndOnes {
  float value[2 * width] = {};
  constexpr ZerosAndOnes() {
    for (size_t i = width; i < 2 * width; ++i) value[i] = 1;
  }
};
template <size_t width>
constexpr ZerosAndOnes<width> kZerosAndOnes;

// What is left behind the last whole vector of a row is a vector that ends with the row, times this: 0 in the
// first lanes, which were added before.
template <class Lanes>
Lanes is_new(size_t added) {
  return Lanes::load(kZerosAndOnes<Lanes::kWidth>.value + Lanes::kWidth - added);
}

template <class Lanes, class Weight, class Vector>
float dot(const Weight* w, const Vector& x, size_t n) {
  constexpr size_t kWidth = Lanes::kWidth;
  Lanes a = Lanes::fill(0), b = a, c = a, d = a;
  size_t j = 0;
  for (; j + 4 * kWidth <= n; j += 4 * kWidth) {
    a = fma(Lanes::load(w + j), x.lanes(j), a);
    b = fma(Lanes::load(w + j + kWidth), x.lanes(j + kWidth), b);
    c = fma(Lanes::load(w + j + 2 * kWidth), x.lanes(j + 2 * kWidth), c);
    d = fma(Lanes::load(w + j + 3 * kWidth), x.lanes(j + 3 * kWidth), d);
  }
  for (; j + kWidth <= n; j += kWidth) a = fma(Lanes::load(w + j), x.lanes(j), a);
  if (j < n && n >= kWidth) {
    const size_t last = n - kWidth;
    b = fma(Lanes::load(w + last), fma(x.lanes(last), is_new<Lanes>(j - last), Lanes::fill(0)), b);
    j = n;
  }
  float total = sum(add(add(a, b), add(c, d)));
  for (; j < n; ++j) total += widen(w[j]) * x.value(j);
  return total;
}

template <class Lanes, class Weight>
void dot_rows(const RowBlock<Weight>& block, float* out) {
  for (size_t k = 0; k < block.rows; ++k) {
    out[k] = dot<Lanes>(block.weight + k * block.features, Stored<Lanes>{block.x}, block.features);
  }
}

// exp(t) = 2^n exp(r), n = round(t log2 e), |r| <= log(2)/2, exp(r) by the polynomial of Cephes expf. Domain
// t <= 0; below -87.3 the result stays at exp(-87.3), about 1e-38.
template <class Lanes>
Lanes exp_lanes(Lanes t) {
  t = max(t, Lanes::fill(-87.3f));
  const Lanes n = round(fma(t, Lanes::fill(1.44269504f), Lanes::fill(0)));
  const Lanes r = fma(n, Lanes::fill(2.12194440e-4f), fma(n, Lanes::fill(-0.693359375f), t));
  Lanes p = Lanes::fill(1.9875691500e-4f);
  p = fma(p, r, Lanes::fill(1.3981999507e-3f));
  p = fma(p, r, Lanes::fill(8.3334519073e-3f));
  p = fma(p, r, Lanes::fill(4.1665795894e-2f));
  p = fma(p, r, Lanes::fill(1.6666665459e-1f));
  p = fma(p, r, Lanes::fill(5.0000001201e-1f));
  p = fma(p, r, Lanes::fill(1));
  p = fma(p, r, Lanes::fill(1));
  return fma(p, power_of_two(n), Lanes::fill(0));
}

template <class Lanes, class Real>
double exp_sum(const Real* s, size_t n, double* largest) {
  using Doubles = typename Lanes::Doubles;
  constexpr size_t kWidth = Lanes::kWidth, kHalf = Doubles::kWidth;
  const size_t whole = n / kWidth * kWidth;
  double rest[kWidth];
  for (size_t j = 0; j < kWidth; ++j)
    rest[j] = whole + j < n ? static_cast<double>(s[whole + j]) : -__builtin_inf();
  Doubles a = Doubles::load(rest), b = Doubles::load(rest + kHalf);
  for (size_t i = 0; i < whole; i += kWidth) {
    a = max(a, Doubles::load(s + i));
    b = max(b, Doubles::load(s + i + kHalf));
  }
  double most[kHalf];
  max(a, b).store(most);
  *largest = most[0];
  for (const double m : most) *largest = m > *largest ? m : *largest;

  const Doubles shift = Doubles::fill(-*largest), least = Doubles::fill(-88);
  Doubles total = Doubles::fill(0);
  const auto below = [&](const auto* p) { return max(add(Doubles::load(p), shift), least); };
  const auto add_exp = [&](const auto* p) {
    float e[kWidth];
    exp_lanes(Lanes::from_doubles(below(p), below(p + kHalf))).store(e);
    total = add(total, add(Doubles::load(e), Doubles::load(e + kHalf)));
  };
  for (size_t i = 0; i < whole; i += kWidth) add_exp(s + i);
  if (whole < n) add_exp(rest);
  return sum(total);
}

// (share (exp(min(q scatter, 4)) - 1))^2; exp_lanes takes t <= 0, and min(a, b) = -max(-a, -b).
template <class Lanes>
Lanes doubt_lanes(Lanes share, Lanes scatter, Lanes minus_q) {
  const Lanes zero = Lanes::fill(0), minus = max(fma(scatter, minus_q, zero), Lanes::fill(-4));
  const Lanes below = fma(minus, Lanes::fill(-1), Lanes::fill(-4));
  const Lanes u = fma(share, fma(exp_lanes(below), Lanes::fill(54.598150f), Lanes::fill(-1)), zero);
  return fma(u, u, zero);
}

template <class Lanes>
ClusterShares cluster_shares(size_t n, const float* scatter, float q, float* m, float* doubt) {
  constexpr size_t kWidth = Lanes::kWidth;
  const size_t whole = n / kWidth * kWidth;
  float last[kWidth], spread[kWidth], most[kWidth];
  for (size_t j = 0; j < kWidth; ++j) {
    last[j] = whole + j < n ? m[whole + j] : m[0];
    spread[j] = whole + j < n ? scatter[whole + j] : 0;
  }
  Lanes top = Lanes::load(last);
  for (size_t i = 0; i < whole; i += kWidth) top = max(top, Lanes::load(m + i));
  top.store(most);
  ClusterShares out{most[0], 0, 0};
  for (const float v : most) out.most = v > out.most ? v : out.most;

  const Lanes shift = Lanes::fill(-out.most), minus_q = Lanes::fill(-q);
  Lanes total = Lanes::fill(0), doubts = total;
  for (size_t i = 0; i < whole; i += kWidth) {
    const Lanes share = exp_lanes(add(Lanes::load(m + i), shift));
    const Lanes square = doubt_lanes(share, Lanes::load(scatter + i), minus_q);
    share.store(m + i);
    square.store(doubt + i);
    total = add(total, share);
    doubts = add(doubts, square);
  }
  out.total = static_cast<double>(sum(total));
  out.doubt = static_cast<double>(sum(doubts));
  if (whole == n) return out;
  float share[kWidth], square[kWidth];
  const Lanes rest = exp_lanes(add(Lanes::load(last), shift));
  rest.store(share);
  doubt_lanes(rest, Lanes::load(spread), minus_q).store(square);
  for (size_t j = 0; whole + j < n; ++j) {
    m[whole + j] = share[j];
    doubt[whole + j] = square[j];
    out.total += static_cast<double>(share[j]);
    out.doubt += static_cast<double>(square[j]);
  }
  return out;
}

// y_j becomes lanes(y, j) of kWidth of them, or value(y, j) where there are fewer. The last vector, which
// ends with the row, is computed before the others and stored after them.
template <class Lanes, class Vectors, class Values>
void update(size_t n, float* y, const Vectors& lanes, const Values& value) {
  constexpr size_t kWidth = Lanes::kWidth;
  if (n < kWidth) {
    for (size_t j = 0; j < n; ++j) y[j] = value(y[j], j);
    return;
  }
  const size_t at = n - kWidth;
  const Lanes last = lanes(Lanes::load(y + at), at);
  for (size_t j = 0; j < at; j += kWidth) lanes(Lanes::load(y + j), j).store(y + j);
  last.store(y + at);
}

template <class Lanes>
void add_scaled(float a, const float* x, size_t n, float* y) {
  const Lanes factor = Lanes::fill(a);
  update<Lanes>(
      n, y, [&](Lanes v, size_t j) { return fma(factor, Lanes::load(x + j), v); },
      [&](float v, size_t j) { return v + a * x[j]; });
}

template <class Lanes>
void add_four(const float* a, const float* const* x, size_t n, float* y) {
  const Lanes factor[] = {Lanes::fill(a[0]), Lanes::fill(a[1]), Lanes::fill(a[2]), Lanes::fill(a[3])};
  update<Lanes>(
      n, y,
      [&](Lanes v, size_t j) {
        for (size_t i = 0; i < 4; ++i) v = fma(factor[i], Lanes::load(x[i] + j), v);
        return v;
      },
      [&](float v, size_t j) {
        for (size_t i = 0; i < 4; ++i) v += a[i] * x[i][j];
        return v;
      });
}

template <class Lanes>
double sum_up_to(size_t n, const float* doubt, const float* worth, float most) {
  constexpr size_t kWidth = Lanes::kWidth;
  const Lanes limit = Lanes::fill(most);
  const auto part = [&](size_t j) {
    return where_at_most(Lanes::load(worth + j), limit, Lanes::load(doubt + j));
  };
  Lanes a = Lanes::fill(0), b = a;
  size_t j = 0;
  for (; j + 2 * kWidth <= n; j += 2 * kWidth) {
    a = add(a, part(j));
    b = add(b, part(j + kWidth));
  }
  for (; j < n && n >= kWidth; j += kWidth) {
    const size_t at = j + kWidth <= n ? j : n - kWidth;
    a = fma(part(at), is_new<Lanes>(j - at), a);
  }
  double total = static_cast<double>(sum(add(a, b)));
  for (; j < n; ++j) total += worth[j] <= most ? static_cast<double>(doubt[j]) : 0;
  return total;
}

template <class Lanes>
void hidden(const HiddenSum& sum, float* h) {
  const Hidden<Lanes> units{sum};
  size_t j = 0;
  for (; j + Lanes::kWidth <= sum.units; j += Lanes::kWidth) units.lanes(j).store(h + j);
  for (; j < sum.units; ++j) h[j] = units.value(j);
}

template <class Lanes, class Weight>
float hidden_dot(const HiddenSum& sum, const Weight* w) {
  return dot<Lanes>(w, Hidden<Lanes>{sum}, sum.units);
}

template <class Lanes>
constexpr Kernels kernels_of(const char* name) {
  return {name,
          dot_rows<Lanes, float>,
          dot_rows<Lanes, uint16_t>,
          dot_rows<Lanes, int8_t>,
          cluster_shares<Lanes>,
          exp_sum<Lanes, double>,
          exp_sum<Lanes, float>,
          sum_up_to<Lanes>,
          add_scaled<Lanes>,
          add_four<Lanes>,
          hidden<Lanes>,
          hidden_dot<Lanes, float>,
          hidden_dot<Lanes, uint16_t>,
          hidden_dot<Lanes, int8_t>,
          crf_kernels_of<Lanes>()};
}

}  // namespace
}  // namespace selfnorm::runtime
