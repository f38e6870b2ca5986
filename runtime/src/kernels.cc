#include "kernel_lanes.h"

namespace selfnorm::runtime {
namespace {

struct PortableDoubles {
  static constexpr size_t kWidth = 4;
  double v[kWidth];

  static PortableDoubles fill(double value) {
    PortableDoubles out;
    for (double& lane : out.v) lane = value;
    return out;
  }
  template <class Real>
  static PortableDoubles load(const Real* p) {
    PortableDoubles out;
    for (size_t i = 0; i < kWidth; ++i) out.v[i] = static_cast<double>(p[i]);
    return out;
  }
  void store(double* p) const {
    for (size_t i = 0; i < kWidth; ++i) p[i] = v[i];
  }
};

struct Portable {
  using Doubles = PortableDoubles;
  static constexpr size_t kWidth = 8;
  float v[kWidth];

  static Portable fill(float value) {
    Portable out;
    for (float& lane : out.v) lane = value;
    return out;
  }
  template <class Weight>
  static Portable load(const Weight* p) {
    Portable out;
    for (size_t i = 0; i < kWidth; ++i) out.v[i] = widen(p[i]);
    return out;
  }
  struct Integers {
    int16_t v[kWidth];
  };
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
    Portable out;
    for (size_t i = 0; i < kWidth / 2; ++i) {
      out.v[i] = static_cast<float>(low.v[i]);
      out.v[kWidth / 2 + i] = static_cast<float>(high.v[i]);
    }
    return out;
  }
  static Portable from_integers(const Integers& q) {
    Portable out;
    for (size_t i = 0; i < kWidth; ++i) out.v[i] = static_cast<float>(q.v[i]);
    return out;
  }
  void store(float* p) const {
    for (size_t i = 0; i < kWidth; ++i) p[i] = v[i];
  }
};

inline Portable add(Portable a, const Portable& b) {
  for (size_t i = 0; i < Portable::kWidth; ++i) a.v[i] += b.v[i];
  return a;
}

inline Portable fma(const Portable& a, const Portable& b, Portable c) {
  for (size_t i = 0; i < Portable::kWidth; ++i) c.v[i] += a.v[i] * b.v[i];
  return c;
}

inline Portable max(Portable a, const Portable& b) {
  for (size_t i = 0; i < Portable::kWidth; ++i) a.v[i] = a.v[i] > b.v[i] ? a.v[i] : b.v[i];
  return a;
}

// Adding 1.5 x 2^23 leaves no fraction bits: round to nearest for |a| < 2^22.
inline Portable round(Portable a) {
  for (float& lane : a.v) lane = (lane + 12582912.0f) - 12582912.0f;
  return a;
}

inline Portable power_of_two(Portable n) {
  for (float& lane : n.v) {
    const uint32_t bits = static_cast<uint32_t>(static_cast<int32_t>(lane) + 127) << 23;
    __builtin_memcpy(&lane, &bits, sizeof lane);
  }
  return n;
}

inline float sum(const Portable& a) {
  return ((a.v[0] + a.v[4]) + (a.v[2] + a.v[6])) + ((a.v[1] + a.v[5]) + (a.v[3] + a.v[7]));
}

inline PortableDoubles add(PortableDoubles a, const PortableDoubles& b) {
  for (size_t i = 0; i < PortableDoubles::kWidth; ++i) a.v[i] += b.v[i];
  return a;
}

inline PortableDoubles fma(const PortableDoubles& a, const PortableDoubles& b, PortableDoubles c) {
  for (size_t i = 0; i < PortableDoubles::kWidth; ++i) c.v[i] += a.v[i] * b.v[i];
  return c;
}

inline PortableDoubles max(PortableDoubles a, const PortableDoubles& b) {
  for (size_t i = 0; i < PortableDoubles::kWidth; ++i) a.v[i] = a.v[i] > b.v[i] ? a.v[i] : b.v[i];
  return a;
}

// a > b ? c : d
inline PortableDoubles where_greater(const PortableDoubles& a, const PortableDoubles& b,
                                     const PortableDoubles& c, PortableDoubles d) {
  for (size_t i = 0; i < PortableDoubles::kWidth; ++i) d.v[i] = a.v[i] > b.v[i] ? c.v[i] : d.v[i];
  return d;
}

// Adding 1.5 x 2^52 leaves no fraction bits: round to nearest for |a| < 2^51.
inline PortableDoubles round(PortableDoubles a) {
  for (double& lane : a.v) lane = (lane + 6755399441055744.0) - 6755399441055744.0;
  return a;
}

inline PortableDoubles power_of_two(PortableDoubles n) {
  for (double& lane : n.v) {
    const uint64_t bits = static_cast<uint64_t>(static_cast<int64_t>(lane) + 1023) << 52;
    __builtin_memcpy(&lane, &bits, sizeof lane);
  }
  return n;
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
