#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/proposal/density/normal_draws.cc"
#include <hwy/foreach_target.h>
//
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <algorithm>
#include <numbers>

#include "proposal/density/normal_draws.h"

HWY_BEFORE_NAMESPACE();
namespace selfnorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// u in (0, 1] and v in [0, 1) become the two normals. n is a multiple of 8.
void box_muller(double* HWY_RESTRICT u, double* HWY_RESTRICT v, size_t n) {
  const hn::CappedTag<double, 8> d;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const auto radius = hn::Sqrt(hn::Mul(hn::Set(d, -2.0), hn::Log(d, hn::LoadU(d, u + i))));
    const auto angle = hn::Mul(hn::Set(d, 2 * std::numbers::pi), hn::LoadU(d, v + i));
    hn::StoreU(hn::Mul(radius, hn::Cos(d, angle)), d, u + i);
    hn::StoreU(hn::Mul(radius, hn::Sin(d, angle)), d, v + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace selfnorm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace selfnorm {

HWY_EXPORT(box_muller);

void fill_normals(RandomStream& random, std::span<double> out) {
  constexpr size_t kPairs = 64;
  double pair[2 * kPairs];
  for (size_t begin = 0; begin < out.size(); begin += 2 * kPairs) {
    const size_t n = std::min(2 * kPairs, out.size() - begin), half = ((n + 1) / 2 + 7) / 8 * 8;
    for (size_t i = 0; i < half; ++i) {
      pair[i] = 1 - random.uniform();
      pair[half + i] = random.uniform();
    }
    HWY_DYNAMIC_DISPATCH(box_muller)(pair, pair + half, half);
    std::copy(pair, pair + n, out.begin() + static_cast<ptrdiff_t>(begin));
  }
}

}  // namespace selfnorm
#endif
