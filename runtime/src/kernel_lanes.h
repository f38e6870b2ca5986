// The kernels written once over a vector type `Lanes`; each kernels_<set>.cc includes this with its own Lanes
// and compiler flags. Everything is in an unnamed namespace and no standard C++ header is included, so that
// no function compiled for one instruction set can be linked in place of another's.
#pragma once

#include "selfnorm/runtime/kernels.h"
#include "widen.h"

namespace selfnorm::runtime {
namespace {

template <class Lanes, class Weight>
float dot(const Weight* w, const float* x, size_t n) {
  constexpr size_t kWidth = Lanes::kWidth;
  Lanes a = Lanes::fill(0), b = a, c = a, d = a;
  size_t j = 0;
  for (; j + 4 * kWidth <= n; j += 4 * kWidth) {
    a = fma(Lanes::load(w + j), Lanes::load(x + j), a);
    b = fma(Lanes::load(w + j + kWidth), Lanes::load(x + j + kWidth), b);
    c = fma(Lanes::load(w + j + 2 * kWidth), Lanes::load(x + j + 2 * kWidth), c);
    d = fma(Lanes::load(w + j + 3 * kWidth), Lanes::load(x + j + 3 * kWidth), d);
  }
  for (; j + kWidth <= n; j += kWidth) a = fma(Lanes::load(w + j), Lanes::load(x + j), a);
  float total = sum(add(add(a, b), add(c, d)));
  for (; j < n; ++j) total += widen(w[j]) * x[j];
  return total;
}

template <class Lanes, class Weight>
void dot_rows(const RowBlock<Weight>& block, float* out) {
  for (size_t k = 0; k < block.rows; ++k) {
    out[k] = dot<Lanes>(block.weight + k * block.features, block.x, block.features);
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

template <class Lanes>
float exp_sum(const float* s, size_t n, float largest) {
  constexpr size_t kWidth = Lanes::kWidth;
  const Lanes shift = Lanes::fill(-largest);
  Lanes total = Lanes::fill(0);
  size_t i = 0;
  for (; i + kWidth <= n; i += kWidth) total = add(total, exp_lanes(add(Lanes::load(s + i), shift)));
  if (i < n) {
    float rest[kWidth];
    for (size_t j = 0; j < kWidth; ++j) rest[j] = i + j < n ? s[i + j] : -__builtin_inff();
    total = add(total, exp_lanes(add(Lanes::load(rest), shift)));
  }
  return sum(total);
}

template <class Lanes>
constexpr Kernels kernels_of(const char* name) {
  return {name, dot_rows<Lanes, float>, dot_rows<Lanes, uint16_t>, dot_rows<Lanes, int8_t>, exp_sum<Lanes>};
}

}  // namespace
}  // namespace selfnorm::runtime
