// Sums by the threads of a block, in a fixed order.
#pragma once

namespace selfnorm::gpu {

// By all threads of one block, a power of 2; `shared` has room for one of each.
template <class T, class Combine>
__device__ T block_reduced(T value, T* shared, const Combine& combine) {
  shared[threadIdx.x] = value;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] = combine(shared[threadIdx.x], shared[threadIdx.x + half]);
    __syncthreads();
  }
  const T out = shared[0];
  __syncthreads();
  return out;
}

__device__ inline float warp_sum(float x) {
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) x += __shfl_xor_sync(~0u, x, mask);
  return x;
}

// A list of places, each of which adds to kPerLane * 32 columns, is shared by the warps of a block (turn by turn, so their
// loads overlap); then the warps' sums are added in their order. Columns are first + lane + 32 i.
inline constexpr int kListWarps = 8;
template <int kPerLane>
struct ListSum {
  float own[kPerLane] = {};

  // add(place, own) for the places from begin to end.
  template <class Add>
  __device__ void over(unsigned long long begin, unsigned long long end, const Add& add) {
#pragma unroll 4
    for (unsigned long long q = begin + threadIdx.x / 32; q < end; q += kListWarps) add(q, own);
  }
  // give(i, sum) for column i of each lane, by the first warp.
  template <class Give>
  __device__ void finish(float (&shared)[kListWarps][32 * kPerLane], const Give& give) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    __syncthreads();
    for (int i = 0; i < kPerLane; ++i) shared[warp][lane + 32 * i] = own[i];
    __syncthreads();
    if (warp != 0) return;
    for (int i = 0; i < kPerLane; ++i) {
      float sum = 0;
      for (int w = 0; w < kListWarps; ++w) sum += shared[w][lane + 32 * i];
      give(i, sum);
    }
  }
};

}  // namespace selfnorm::gpu
