// What kernels share. Included once for every target (hwy/foreach_target.h).
#if defined(SELFNORM_VECTORS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SELFNORM_VECTORS_INL
#undef SELFNORM_VECTORS_INL
#else
#define SELFNORM_VECTORS_INL
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace selfnorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A vector of doubles from either precision.
template <class D>
hn::Vec<D> load_double(D d, const float* x) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), x));
}
template <class D>
hn::Vec<D> load_double(D d, const double* x) {
  return hn::LoadU(d, x);
}

// body(1 .. 4) with the number known when compiled: sums stay in registers.
template <class Body>
HWY_INLINE void for_count(size_t count, const Body& body) {
  if (count == 1)
    body(std::integral_constant<size_t, 1>());
  else if (count == 2)
    body(std::integral_constant<size_t, 2>());
  else if (count == 3)
    body(std::integral_constant<size_t, 3>());
  else
    body(std::integral_constant<size_t, 4>());
}

}  // namespace HWY_NAMESPACE
}  // namespace selfnorm
HWY_AFTER_NAMESPACE();

#endif
