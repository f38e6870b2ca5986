// Loops over a few vectors whose number is known when compiled. Included once for every target
// (hwy/foreach_target.h).
#if defined(SELFNORM_FOR_COUNT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SELFNORM_FOR_COUNT_INL
#undef SELFNORM_FOR_COUNT_INL
#else
#define SELFNORM_FOR_COUNT_INL
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace selfnorm {
namespace HWY_NAMESPACE {

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
