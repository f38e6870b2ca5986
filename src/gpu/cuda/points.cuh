// What a block of threads does with the points of a step: products with weights, sums over threads, and the sum of the
// blocks' gradients. Every sum has a fixed order.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace selfnorm::gpu {

inline constexpr int kPassThreads = 512;
inline constexpr int kSumColumns = 64, kSumGroups = 8;

// R numbers, one for each point of a block, in vectors of 4.
template <int R>
struct Quad {
  float x[R];

  static __device__ Quad load(const float* from) {
    Quad out;
#pragma unroll
    for (int q = 0; q < R / 4; ++q) {
      const float4 v = reinterpret_cast<const float4*>(from)[q];
      out.x[4 * q] = v.x, out.x[4 * q + 1] = v.y, out.x[4 * q + 2] = v.z, out.x[4 * q + 3] = v.w;
    }
    return out;
  }
  __device__ void add_scaled(float by, const Quad& other) {
#pragma unroll
    for (int r = 0; r < R; ++r) x[r] = fmaf(by, other.x[r], x[r]);
  }
  __device__ float dot(const Quad& other) const {
    float sum = 0;
#pragma unroll
    for (int r = 0; r < R; ++r) sum = fmaf(x[r], other.x[r], sum);
    return sum;
  }
};

// finish(o, vector of points, sum_i w[i * stride + o] a[i][.]) for o < out: threads share the sum over i, and add their
// parts in order.
template <int R, class Finish>
__device__ void product(const float* w, int stride, int in, int out, const float* a, float4* room, const Finish& finish) {
  for (int first = 0; first < out; first += kPassThreads) {
    const int columns = min(kPassThreads, (out - first + 31) / 32 * 32), groups = kPassThreads / columns;
    const int own = threadIdx.x % columns, group = threadIdx.x / columns, o = first + own;
    if (group < groups) {
      Quad<R> sum = {};
      const int begin = in * group / groups, end = in * (group + 1) / groups;
      if (o < out) {
#pragma unroll 8
        for (int i = begin; i < end; ++i) sum.add_scaled(w[i * stride + o], Quad<R>::load(a + i * R));
      }
#pragma unroll
      for (int q = 0; q < R / 4; ++q)
        room[(group * (R / 4) + q) * columns + own] = {sum.x[4 * q], sum.x[4 * q + 1], sum.x[4 * q + 2], sum.x[4 * q + 3]};
    }
    __syncthreads();
    for (int item = threadIdx.x; item < columns * (R / 4); item += kPassThreads) {
      const int column = item % columns, q = item / columns;
      if (first + column >= out) continue;
      float4 sum = {0, 0, 0, 0};
      for (int g = 0; g < groups; ++g) {
        const float4 part = room[(g * (R / 4) + q) * columns + column];
        sum.x += part.x, sum.y += part.y, sum.z += part.z, sum.w += part.w;
      }
      finish(first + column, q, sum);
    }
    __syncthreads();
  }
}

// Sums (or with kMax maxima) of all threads' values in the first thread, the same for any timing. `shared` is not used by
// another one before a barrier.
template <int kCount, bool kMax = false>
__device__ void block_reduce(double (&value)[kCount], double (*shared)[kCount]) {
  const auto take = [](double& into, double other) { into = kMax ? fmax(into, other) : into + other; };
#pragma unroll
  for (int c = 0; c < kCount; ++c) {
#pragma unroll
    for (int half = 16; half > 0; half /= 2) take(value[c], __shfl_xor_sync(~0u, value[c], half));
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32][c] = value[c];
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (unsigned w = 1; w < blockDim.x / 32; ++w)
    for (int c = 0; c < kCount; ++c) take(value[c], shared[w][c]);
}

// gradient[j] <- the sum of the first `blocks` rows of partial (each `parameters` long), 0 where j is not trained;
// squares[blockIdx.x] <- the squares of those of this block, of kSumColumns * kSumGroups threads.
template <class IsTrained>
__device__ void sum_partials(const float* partial, int blocks, int64_t parameters, float* gradient, double* squares,
                             const IsTrained& is_trained) {
  __shared__ float parts[kSumGroups][kSumColumns];
  __shared__ double shared[kSumColumns * kSumGroups / 32][1];
  const int column = threadIdx.x % kSumColumns, group = threadIdx.x / kSumColumns;
  const int64_t j = int64_t{blockIdx.x} * kSumColumns + column;
  float sum = 0;
  if (j < parameters && is_trained(j)) {
    const int begin = blocks * group / kSumGroups, end = blocks * (group + 1) / kSumGroups;
#pragma unroll 8
    for (int b = begin; b < end; ++b) sum += partial[b * parameters + j];
  }
  parts[group][column] = sum;
  __syncthreads();
  double square[1] = {0};
  if (group == 0) {
    for (int g = 1; g < kSumGroups; ++g) sum += parts[g][column];
    if (j < parameters) gradient[j] = sum;
    square[0] = j < parameters ? static_cast<double>(sum) * sum : 0;
  }
  block_reduce(square, shared);
  if (threadIdx.x == 0) squares[blockIdx.x] = square[0];
}

}  // namespace selfnorm::gpu
