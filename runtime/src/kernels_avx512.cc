#include <immintrin.h>

#include "kernel_lanes.h"

namespace selfnorm::runtime {
namespace {

struct Avx512Doubles {
  static constexpr size_t kWidth = 8;
  __m512d v;

  static Avx512Doubles fill(double value) { return {_mm512_set1_pd(value)}; }
  static Avx512Doubles load(const double* p) { return {_mm512_loadu_pd(p)}; }
  static Avx512Doubles load(const float* p) { return {_mm512_cvtps_pd(_mm256_loadu_ps(p))}; }
  void store(double* p) const { _mm512_storeu_pd(p, v); }
};

struct Avx512 {
  using Doubles = Avx512Doubles;
  static constexpr size_t kWidth = 16;
  __m512 v;

  static Avx512 fill(float value) { return {_mm512_set1_ps(value)}; }
  static Avx512 load(const float* p) { return {_mm512_loadu_ps(p)}; }
  static Avx512 load(const uint16_t* p) {
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
    return {_mm512_castsi512_ps(_mm512_slli_epi32(wide, 16))};
  }
  static Avx512 load(const int8_t* p) {
    return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))))};
  }
  static __m256i load_integers(const int16_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static __m256i add_integers(__m256i a, __m256i b) { return _mm256_add_epi16(a, b); }
  static Avx512 from_doubles(Avx512Doubles low, Avx512Doubles high) {
    const __m512d first = _mm512_castps_pd(_mm512_castps256_ps512(_mm512_cvtpd_ps(low.v)));
    return {_mm512_castpd_ps(_mm512_insertf64x4(first, _mm256_castps_pd(_mm512_cvtpd_ps(high.v)), 1))};
  }
  static Avx512 from_integers(__m256i q) { return {_mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(q))}; }
  void store(float* p) const { _mm512_storeu_ps(p, v); }
};

inline Avx512 add(Avx512 a, Avx512 b) { return {_mm512_add_ps(a.v, b.v)}; }
inline Avx512 fma(Avx512 a, Avx512 b, Avx512 c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
inline Avx512 max(Avx512 a, Avx512 b) { return {_mm512_max_ps(a.v, b.v)}; }
// x where a <= b, else 0
inline Avx512 where_at_most(Avx512 a, Avx512 b, Avx512 x) {
  return {_mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a.v, b.v, _CMP_LE_OQ), x.v)};
}
inline Avx512 round(Avx512 a) {
  return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}

inline Avx512 power_of_two(Avx512 n) {
  const __m512i biased = _mm512_add_epi32(_mm512_cvtps_epi32(n.v), _mm512_set1_epi32(127));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(biased, 23))};
}

inline float sum(Avx512 a) { return _mm512_reduce_add_ps(a.v); }

inline Avx512Doubles add(Avx512Doubles a, Avx512Doubles b) { return {_mm512_add_pd(a.v, b.v)}; }
inline Avx512Doubles fma(Avx512Doubles a, Avx512Doubles b, Avx512Doubles c) {
  return {_mm512_fmadd_pd(a.v, b.v, c.v)};
}
inline Avx512Doubles max(Avx512Doubles a, Avx512Doubles b) { return {_mm512_max_pd(a.v, b.v)}; }
inline Avx512Doubles where_greater(Avx512Doubles a, Avx512Doubles b, Avx512Doubles c, Avx512Doubles d) {
  return {_mm512_mask_blend_pd(_mm512_cmp_pd_mask(a.v, b.v, _CMP_GT_OQ), d.v, c.v)};
}
inline Avx512Doubles round(Avx512Doubles a) {
  return {_mm512_roundscale_pd(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}

inline Avx512Doubles power_of_two(Avx512Doubles n) {
  const __m512i biased =
      _mm512_add_epi64(_mm512_cvtepi32_epi64(_mm512_cvtpd_epi32(n.v)), _mm512_set1_epi64(1023));
  return {_mm512_castsi512_pd(_mm512_slli_epi64(biased, 52))};
}

inline double sum(Avx512Doubles a) { return _mm512_reduce_add_pd(a.v); }

}  // namespace

constinit const Kernels kAvx512Kernels = kernels_of<Avx512>("avx512");

}  // namespace selfnorm::runtime
