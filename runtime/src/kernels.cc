#include "selfnorm/runtime/kernels.h"

namespace selfnorm::runtime {

size_t supported_kernels(const Kernels* (&out)[kMostKernels]) {
  size_t n = 0;
  out[n++] = &kPortableKernels;
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx2) out[n++] = &kAvx2Kernels;
  if (avx2 && __builtin_cpu_supports("avx512f")) out[n++] = &kAvx512Kernels;
#endif
  return n;
}

const Kernels& best_kernels() {
  const Kernels* all[kMostKernels];
  return *all[supported_kernels(all) - 1];
}

}  // namespace selfnorm::runtime
