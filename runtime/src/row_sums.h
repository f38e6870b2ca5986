// Sums over the lanes of several vectors together, for the instruction sets of x86. In an unnamed namespace,
// as kernel_lanes.h.
#pragma once

#include <immintrin.h>

namespace selfnorm::runtime {
namespace {

inline __m128 fold(__m256 a) { return _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1)); }

// out_i = the sum of the i-th vector + bias_i
inline void store_sums(__m128 a, __m128 b, __m128 c, __m128 d, const float* bias, float* out) {
  const __m128 ab = _mm_add_ps(_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b));
  const __m128 cd = _mm_add_ps(_mm_unpacklo_ps(c, d), _mm_unpackhi_ps(c, d));
  const __m128 sums = _mm_add_ps(_mm_movelh_ps(ab, cd), _mm_movehl_ps(cd, ab));
  _mm_storeu_ps(out, _mm_add_ps(sums, _mm_loadu_ps(bias)));
}

}  // namespace
}  // namespace selfnorm::runtime
