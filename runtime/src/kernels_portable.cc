#include "kernel_lanes.h"

namespace selfnorm::runtime {
namespace {

struct Portable {
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

}  // namespace

constinit const Kernels kPortableKernels = kernels_of<Portable>("portable");

}  // namespace selfnorm::runtime
