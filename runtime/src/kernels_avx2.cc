#include <immintrin.h>

#include "kernel_lanes.h"

namespace selfnorm::runtime {
namespace {

struct Avx2Doubles {
  static constexpr size_t kWidth = 4;
  __m256d v;

  static Avx2Doubles fill(double value) { return {_mm256_set1_pd(value)}; }
  static Avx2Doubles load(const double* p) { return {_mm256_loadu_pd(p)}; }
  static Avx2Doubles load(const float* p) { return {_mm256_cvtps_pd(_mm_loadu_ps(p))}; }
  void store(double* p) const { _mm256_storeu_pd(p, v); }
};

struct Avx2 {
  using Doubles = Avx2Doubles;
  static constexpr size_t kWidth = 8;
  __m256 v;

  static Avx2 fill(float value) { return {_mm256_set1_ps(value)}; }
  static Avx2 load(const float* p) { return {_mm256_loadu_ps(p)}; }
  static Avx2 load(const uint16_t* p) {
    const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    return {_mm256_castsi256_ps(_mm256_slli_epi32(wide, 16))};
  }
  static Avx2 load(const int8_t* p) {
    return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))))};
  }
  static __m128i load_integers(const int16_t* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  static __m128i add_integers(__m128i a, __m128i b) { return _mm_add_epi16(a, b); }
  static Avx2 from_doubles(Avx2Doubles low, Avx2Doubles high) {
    return {_mm256_set_m128(_mm256_cvtpd_ps(high.v), _mm256_cvtpd_ps(low.v))};
  }
  static Avx2 from_integers(__m128i q) { return {_mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(q))}; }
  void store(float* p) const { _mm256_storeu_ps(p, v); }
};

inline Avx2 add(Avx2 a, Avx2 b) { return {_mm256_add_ps(a.v, b.v)}; }
inline Avx2 fma(Avx2 a, Avx2 b, Avx2 c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
inline Avx2 max(Avx2 a, Avx2 b) { return {_mm256_max_ps(a.v, b.v)}; }
// x where a <= b, else 0
inline Avx2 where_at_most(Avx2 a, Avx2 b, Avx2 x) {
  return {_mm256_and_ps(_mm256_cmp_ps(a.v, b.v, _CMP_LE_OQ), x.v)};
}
inline Avx2 round(Avx2 a) { return {_mm256_round_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }

inline Avx2 power_of_two(Avx2 n) {
  const __m256i biased = _mm256_add_epi32(_mm256_cvtps_epi32(n.v), _mm256_set1_epi32(127));
  return {_mm256_castsi256_ps(_mm256_slli_epi32(biased, 23))};
}

inline float sum(Avx2 a) {
  __m128 half = _mm_add_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
  half = _mm_add_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
}

inline Avx2Doubles add(Avx2Doubles a, Avx2Doubles b) { return {_mm256_add_pd(a.v, b.v)}; }
inline Avx2Doubles fma(Avx2Doubles a, Avx2Doubles b, Avx2Doubles c) {
  return {_mm256_fmadd_pd(a.v, b.v, c.v)};
}
inline Avx2Doubles max(Avx2Doubles a, Avx2Doubles b) { return {_mm256_max_pd(a.v, b.v)}; }
inline Avx2Doubles where_greater(Avx2Doubles a, Avx2Doubles b, Avx2Doubles c, Avx2Doubles d) {
  return {_mm256_blendv_pd(d.v, c.v, _mm256_cmp_pd(a.v, b.v, _CMP_GT_OQ))};
}
inline Avx2Doubles round(Avx2Doubles a) {
  return {_mm256_round_pd(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}

inline Avx2Doubles power_of_two(Avx2Doubles n) {
  const __m256i biased =
      _mm256_add_epi64(_mm256_cvtepi32_epi64(_mm256_cvtpd_epi32(n.v)), _mm256_set1_epi64x(1023));
  return {_mm256_castsi256_pd(_mm256_slli_epi64(biased, 52))};
}

inline double sum(Avx2Doubles a) {
  const __m128d half = _mm_add_pd(_mm256_castpd256_pd128(a.v), _mm256_extractf128_pd(a.v, 1));
  return _mm_cvtsd_f64(_mm_add_sd(half, _mm_unpackhi_pd(half, half)));
}

}  // namespace

constinit const Kernels kAvx2Kernels = kernels_of<Avx2>("avx2");

}  // namespace selfnorm::runtime
