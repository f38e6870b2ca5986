#include "kernel_lanes.h"

namespace selfnorm::runtime {
namespace {

// Arrays in the place of vectors.
template <class Self, class T, size_t n>
struct PortableLanes {
  static constexpr size_t kWidth = n;
  T v[n];

  static Self fill(T value) {
    return each([&](size_t) { return value; });
  }
  template <class Value>
  static Self each(const Value& value) {
    Self out;
    for (size_t i = 0; i < n; ++i) out.v[i] = value(i);
    return out;
  }
  void store(T* p) const {
    for (size_t i = 0; i < n; ++i) p[i] = v[i];
  }
};

struct PortableDoubles : PortableLanes<PortableDoubles, double, 4> {
  template <class Real>
  static PortableDoubles load(const Real* p) {
    return each([&](size_t i) { return static_cast<double>(p[i]); });
  }
};

struct Portable : PortableLanes<Portable, float, 8> {
  using Doubles = PortableDoubles;
  struct Integers {
    int16_t v[kWidth];
  };

  template <class Weight>
  static Portable load(const Weight* p) {
    return each([&](size_t i) { return widen(p[i]); });
  }
  static Integers load_integers(const int16_t* p) {
    Integers out;
    for (size_t i = 0; i < kWidth; ++i) out.v[i] = p[i];
    return out;
  }
  static Integers add_integers(Integers a, const Integers& b) {
    for (size_t i = 0; i < kWidth; ++i) a.v[i] = static_cast<int16_t>(a.v[i] + b.v[i]);
    return a;
  }
  static Portable from_doubles(const PortableDoubles& low, const PortableDoubles& high) {
    return each([&](size_t i) { return static_cast<float>(i < 4 ? low.v[i] : high.v[i - 4]); });
  }
  static Portable from_integers(const Integers& q) {
    return each([&](size_t i) { return static_cast<float>(q.v[i]); });
  }
};

template <class L, class T, size_t n>
L add(const PortableLanes<L, T, n>& a, const PortableLanes<L, T, n>& b) {
  return L::each([&](size_t i) { return a.v[i] + b.v[i]; });
}

template <class L, class T, size_t n>
L fma(const PortableLanes<L, T, n>& a, const PortableLanes<L, T, n>& b, const PortableLanes<L, T, n>& c) {
  return L::each([&](size_t i) { return c.v[i] + a.v[i] * b.v[i]; });
}

template <class L, class T, size_t n>
L max(const PortableLanes<L, T, n>& a, const PortableLanes<L, T, n>& b) {
  return L::each([&](size_t i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
}

// x where a <= b, else 0
inline Portable where_at_most(const Portable& a, const Portable& b, const Portable& x) {
  return Portable::each([&](size_t i) { return a.v[i] <= b.v[i] ? x.v[i] : 0; });
}

// Adding 1.5 x 2^23 leaves no fraction bits: round to nearest for |a| < 2^22; 1.5 x 2^52 for |a| < 2^51.
inline Portable round(Portable a) {
  for (float& lane : a.v) lane = (lane + 12582912.0f) - 12582912.0f;
  return a;
}
inline PortableDoubles round(PortableDoubles a) {
  for (double& lane : a.v) lane = (lane + 6755399441055744.0) - 6755399441055744.0;
  return a;
}

inline Portable power_of_two(Portable n) {
  for (float& lane : n.v) {
    const uint32_t bits = static_cast<uint32_t>(static_cast<int32_t>(lane) + 127) << 23;
    __builtin_memcpy(&lane, &bits, sizeof lane);
  }
  return n;
}
inline PortableDoubles power_of_two(PortableDoubles n) {
  for (double& lane : n.v) {
    const uint64_t bits = static_cast<uint64_t>(static_cast<int64_t>(lane) + 1023) << 52;
    __builtin_memcpy(&lane, &bits, sizeof lane);
  }
  return n;
}

// a > b ? c : d
inline PortableDoubles where_greater(const PortableDoubles& a, const PortableDoubles& b,
                                     const PortableDoubles& c, const PortableDoubles& d) {
  return PortableDoubles::each([&](size_t i) { return a.v[i] > b.v[i] ? c.v[i] : d.v[i]; });
}

inline float sum(const Portable& a) {
  return ((a.v[0] + a.v[4]) + (a.v[2] + a.v[6])) + ((a.v[1] + a.v[5]) + (a.v[3] + a.v[7]));
}
inline double sum(const PortableDoubles& a) { return (a.v[0] + a.v[2]) + (a.v[1] + a.v[3]); }

}  // namespace

constinit const Kernels kPortableKernels = kernels_of<Portable>("portable");

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
