// A vector of doubles from either precision. Included once for every target (hwy/foreach_target.h).
#if defined(SELFNORM_LOAD_DOUBLE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SELFNORM_LOAD_DOUBLE_INL
#undef SELFNORM_LOAD_DOUBLE_INL
#else
#define SELFNORM_LOAD_DOUBLE_INL
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace selfnorm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
hn::Vec<D> load_double(D d, const float* x) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), x));
}
template <class D>
hn::Vec<D> load_double(D d, const double* x) {
  return hn::LoadU(d, x);
}

}  // namespace HWY_NAMESPACE
}  // namespace selfnorm
HWY_AFTER_NAMESPACE();

#endif
