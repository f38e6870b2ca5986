// Vectors of 16 bytes of a sheet of scores, as floats.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace selfnorm::gpu {

template <class T>
constexpr int kLanes = 16 / sizeof(T);

// Two numbers of 16 bits in a word.
template <class T>
struct PairOf;
template <>
struct PairOf<__nv_bfloat16> {
  using Type = __nv_bfloat162;
  static __device__ float2 floats(uint32_t word) {
    return {__uint_as_float(word << 16), __uint_as_float(word & 0xffff0000u)};
  }
  static __device__ Type rounded(float a, float b) { return __floats2bfloat162_rn(a, b); }
  static constexpr uint32_t kNothing = 0xff80ff80u;  // -inf, twice
};
template <>
struct PairOf<__half> {
  using Type = __half2;
  static __device__ float2 floats(uint32_t word) { return __half22float2(*reinterpret_cast<const Type*>(&word)); }
  static __device__ Type rounded(float a, float b) { return __floats2half2_rn(a, b); }
  static constexpr uint32_t kNothing = 0xfc00fc00u;  // -inf, twice
};

// The 16 bytes of a vector as floats, and back; words of 4 bytes, by the larger of each of their numbers.
template <class T>
struct Lanes {
  using Pair = PairOf<T>;
  static __device__ void open(const uint4& v, float* x) {
    const uint32_t words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 pair = Pair::floats(words[i]);
      x[2 * i] = pair.x, x[2 * i + 1] = pair.y;
    }
  }
  static __device__ uint4 close(const float* x) {
    uint32_t words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const auto pair = Pair::rounded(x[2 * i], x[2 * i + 1]);
      words[i] = *reinterpret_cast<const uint32_t*>(&pair);
    }
    return {words[0], words[1], words[2], words[3]};
  }
  static __device__ uint32_t larger(uint32_t a, uint32_t b) {
    using Type = typename Pair::Type;
    const Type most = __hmax2(*reinterpret_cast<const Type*>(&a), *reinterpret_cast<const Type*>(&b));
    return *reinterpret_cast<const uint32_t*>(&most);
  }
  static __device__ float largest(uint32_t a) {
    const float2 pair = Pair::floats(a);
    return fmaxf(pair.x, pair.y);
  }
  static constexpr uint32_t kNothing = Pair::kNothing;
};
template <>
struct Lanes<float> {
  static __device__ void open(const uint4& v, float* x) {
    x[0] = __uint_as_float(v.x), x[1] = __uint_as_float(v.y);
    x[2] = __uint_as_float(v.z), x[3] = __uint_as_float(v.w);
  }
  static __device__ uint4 close(const float* x) {
    return {__float_as_uint(x[0]), __float_as_uint(x[1]), __float_as_uint(x[2]), __float_as_uint(x[3])};
  }
  static __device__ uint32_t larger(uint32_t a, uint32_t b) {
    return __float_as_uint(fmaxf(__uint_as_float(a), __uint_as_float(b)));
  }
  static __device__ float largest(uint32_t a) { return __uint_as_float(a); }
  static constexpr uint32_t kNothing = 0xff800000u;  // -inf
};

}  // namespace selfnorm::gpu
