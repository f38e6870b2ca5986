#include "gpu/cuda/head_rows.cuh"

#include <algorithm>
#include <atomic>
#include <type_traits>

#include "gpu/cuda/cluster.cuh"
#include "gpu/cuda/context.cuh"
#include "gpu/cuda/lanes.cuh"

namespace selfnorm::gpu {
namespace {

constexpr int kThreads = 512;
constexpr int kWarps = kThreads / 32;
constexpr float kLog2e = 1.4426950408889634f;

template <class T>
constexpr int kHeld = 8;  // vectors of 16 bytes that a thread keeps: a row of kThreads * kHeld * kLanes a block
constexpr int kStreamed = 4;
constexpr int kMostBlocks = 8;  // of a cluster

__device__ inline float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// What was computed from v is forgotten, so that registers hold v alone rather than its numbers as floats.
__device__ inline void forget(uint4& v) { asm volatile("" : "+r"(v.x), "+r"(v.y), "+r"(v.z), "+r"(v.w)); }

// z_k, from the product at class k. Plain heads, of whose sums only log Z and the best class are asked: the product itself.
template <bool kPlain>
__device__ inline float raised(const RowTask& task, float product, int k) {
  if constexpr (kPlain) return product;
  return task.scale * (product + (task.bias != nullptr ? task.bias[k] : 0));
}
template <bool kPlain>
__device__ inline float score_of(const RowTask& task, float product, int k) {
  if constexpr (kPlain) return product;
  const float z = capped(raised<kPlain>(task, product, k), task.cap);
  return task.carrier != nullptr ? z + task.carrier[k] : z;
}

// The sums of all lanes of a warp, in a fixed order. Of plain heads only max, sum and best class.
template <bool kPlain>
__device__ inline RowSums of_warp(RowSums sums) {
  if constexpr (!kPlain) {
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) {
      RowSums other;
      other.max = __shfl_xor_sync(~0u, sums.max, mask);
      other.sum = __shfl_xor_sync(~0u, sums.sum, mask);
      other.shifted = __shfl_xor_sync(~0u, sums.shifted, mask);
      other.plain = __shfl_xor_sync(~0u, sums.plain, mask);
      other.best = __shfl_xor_sync(~0u, sums.best, mask);
      other.better = __shfl_xor_sync(~0u, sums.better, mask);
      sums.merge(other);
    }
    return sums;
  }
  float top = sums.max;
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, mask));
  sums.sum *= exp2_fast((sums.max - top) * kLog2e);
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) sums.sum += __shfl_xor_sync(~0u, sums.sum, mask);
  const unsigned first = sums.max == top && sums.best >= 0 ? static_cast<unsigned>(sums.best) : ~0u;
  sums.best = static_cast<int>(__reduce_min_sync(~0u, first));
  sums.max = top;
  return sums;
}

struct BlockPart {
  RowSums sums;
  float target_score;
};

// The target, ahead of which classes are counted: by a higher score, or the same and a smaller index.
struct Bar {
  float score;
  int place;
};

// Adds the scores of one vector, the first `count` of which are classes. Terms 1e4 below the max count as 0.
template <class T>
__device__ inline void add_vector(const RowTask& task, const uint4& vector, int k, int count, const Bar& bar, RowSums& sums) {
  constexpr int kL = kLanes<T>;
  float s[kL];
  Lanes<T>::open(vector, s);
  float top = kLowest;
#pragma unroll
  for (int i = 0; i < kL; ++i) {
    s[i] = i < count ? score_of<false>(task, s[i], k + i) : -INFINITY;
    top = fmaxf(top, s[i]);
  }
  if (top > sums.max) {
    const float factor = exp2_fast((sums.max - top) * kLog2e);
    sums.shifted = sums.sum == 0 ? 0 : factor * (sums.shifted + sums.sum * (sums.max - top));
    sums.sum *= factor;
    sums.max = top;
#pragma unroll
    for (int i = kL - 1; i >= 0; --i)
      if (s[i] == top) sums.best = k + i;
  }
#pragma unroll
  for (int i = 0; i < kL; ++i) {
    const float t = s[i] - sums.max, e = exp2_fast(t * kLog2e);
    sums.sum += e;
    sums.shifted += e * fmaxf(t, -1e4f);
    if (i < count) sums.plain += s[i];
    sums.better += s[i] > bar.score || (s[i] == bar.score && k + i < bar.place) ? 1 : 0;
  }
}

// Raises the max of a plain head's sums by some vectors; what is no class is -inf. Returns what their sum is multiplied by.
template <class T, int kV>
__device__ inline float raise_max(const uint4 (&v)[kV], int first, bool wants_best, RowSums& sums) {
  constexpr int kL = kLanes<T>;
  using L = Lanes<T>;
  uint32_t most = L::kNothing;
#pragma unroll
  for (int i = 0; i < kV; ++i)
    most = L::larger(most, L::larger(L::larger(v[i].x, v[i].y), L::larger(v[i].z, v[i].w)));
  const float here = L::largest(most), top = fmaxf(here, sums.max);
  if (wants_best && here > sums.max) {
#pragma unroll
    for (int i = kV - 1; i >= 0; --i) {
      float s[kL];
      L::open(v[i], s);
#pragma unroll
      for (int j = kL - 1; j >= 0; --j)
        if (s[j] == here) sums.best = first + i * kThreads * kL + j;
    }
  }
  const float factor = exp2_fast((sums.max - top) * kLog2e);
  sums.max = top;
  return factor;
}

// Adds the scores of some vectors of a plain head.
template <class T, int kV>
__device__ inline void add_plain(uint4 (&v)[kV], int first, bool wants_best, RowSums& sums) {
  constexpr int kL = kLanes<T>;
  float sum[2] = {sums.sum * raise_max<T>(v, first, wants_best, sums), 0};
  const float shift = sums.max * kLog2e;
#pragma unroll
  for (int i = 0; i < kV; ++i) {
    float s[kL];
    forget(v[i]);
    Lanes<T>::open(v[i], s);
#pragma unroll
    for (int j = 0; j < kL; ++j) sum[j % 2] += exp2_fast(fmaf(s[j], kLog2e, -shift));
  }
  sums.sum = sum[0] + sum[1];
}

// The same for the only vectors of a thread, which become exp(s - max) 2^kLift in float16: at most 2^14, with all of its 11 bits
// down to 4e-9 of the largest, four bits more than the bfloat16 that is made of it. So each exponential is taken once.
constexpr float kLift = 14;
template <class T, int kV>
__device__ inline void exponentiate(uint4 (&v)[kV], int first, bool wants_best, RowSums& sums) {
  constexpr int kL = kLanes<T>;
  raise_max<T>(v, first, wants_best, sums);
  const float shift = sums.max * kLog2e - kLift;
  float sum[2] = {0, 0};
#pragma unroll
  for (int i = 0; i < kV; ++i) {
    float s[kL];
    forget(v[i]);
    Lanes<T>::open(v[i], s);
#pragma unroll
    for (int j = 0; j < kL; ++j) {
      s[j] = exp2_fast(fmaf(s[j], kLog2e, -shift));
      sum[j % 2] += s[j];
    }
    v[i] = Lanes<__half>::close(s);
  }
  sums.sum = (sum[0] + sum[1]) * (1.0f / 16384);
}

// A vector of the sheet whose places from `count` on are -inf.
template <class T>
__device__ inline uint4 loaded(const T* from, int count) {
  if (count >= kLanes<T>) return *reinterpret_cast<const uint4*>(from);
  if (count <= 0) return {Lanes<T>::kNothing, Lanes<T>::kNothing, Lanes<T>::kNothing, Lanes<T>::kNothing};
  float s[kLanes<T>];
#pragma unroll
  for (int i = 0; i < kLanes<T>; ++i) s[i] = i < count ? static_cast<float>(from[i]) : -INFINITY;
  return Lanes<T>::close(s);
}

// The next row's segment on its way to shared memory while this one's is worked on (Hopper's bulk copy and the barrier that
// counts its bytes); elsewhere rows are read when their turn comes.
template <class T>
struct Prefetch {
  uint64_t* barrier;
  T* stage;

  __device__ void open() {
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x == 0) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)) : "memory");
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
#endif
  }
  __device__ void start(const T* from, int count) {  // by one thread
#if __CUDA_ARCH__ >= 900
    const uint32_t bytes = (static_cast<uint32_t>(count) * sizeof(T) + 15) / 16 * 16;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(stage)),
                 "l"(from), "r"(bytes), "r"(shared_address(barrier))
                 : "memory");
#endif
  }
  __device__ void wait(int turn) {
#if __CUDA_ARCH__ >= 900
    uint32_t is_there = 0;
    while (is_there == 0)
      asm volatile(
          "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
          : "=r"(is_there)
          : "r"(shared_address(barrier)), "r"(turn & 1)
          : "memory");
#endif
  }
  static __device__ uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
};

// Rows by a cluster of blocks, each of which has a segment of the classes. kHolds: the segment stays in registers between
// the sums and the derivatives, so the sheet is read once and written once; else it is read twice.
template <class T, bool kPlain, bool kHolds>
__global__ void __launch_bounds__(kThreads, kPlain ? 2 : 1) head_rows(const __grid_constant__ RowTask task) {
  constexpr int kL = kLanes<T>;
  constexpr int kV = kHolds ? kHeld<T> : kStreamed;
  constexpr bool kExponentiates = kPlain && kHolds && std::is_same_v<T, __nv_bfloat16>;  // float16 would be rounded twice
  extern __shared__ __align__(128) unsigned char stage[];
  __shared__ __align__(8) uint64_t barrier;
  __shared__ RowSums parts[kWarps];
  __shared__ BlockPart own[2], whole;  // own: of this row and of the last, which others may still read
  const int rank = cluster_rank(), blocks = cluster_blocks();
  const int begin = rank * task.segment;
  const int end = begin + task.segment < task.classes ? begin + task.segment : task.classes;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int64_t stride = gridDim.x / blocks;
  Prefetch<T> prefetch{&barrier, reinterpret_cast<T*>(stage)};
  if constexpr (kHolds) {
    prefetch.open();
    if (threadIdx.x == 0 && begin < end)
      prefetch.start(static_cast<const T*>(task.sheet) + blockIdx.x / blocks * task.stride + begin, end - begin);
  }
  int turn = 0;
  for (int64_t local = blockIdx.x / blocks; local < task.rows; local += stride, ++turn) {
  const int64_t row = task.first + local;
  T* const sheet = static_cast<T*>(task.sheet) + local * task.stride;
  const int64_t target = task.target != nullptr ? task.target[row] : -1;
  const bool is_ignored = task.target == nullptr || target == task.ignore_index;
  const int64_t shifted_target = target - task.first_class;
  const bool is_ours = !is_ignored && shifted_target >= 0 && shifted_target < task.classes;
  const int own_target = is_ours ? static_cast<int>(shifted_target) : -1;
  const bool is_here = own_target >= begin && own_target < end;
  float target_product = 0;
  if (is_here) target_product = static_cast<float>(sheet[own_target]);
  Bar bar{INFINITY, 0};
  if (!kPlain && task.better != nullptr && is_ours)
    bar = {score_of<kPlain>(task, static_cast<float>(sheet[own_target]), own_target), own_target};
  if (task.selected != nullptr) {  // kept as scores until A is known
    for (int64_t j = threadIdx.x; j < task.picks; j += kThreads) {
      const int64_t k = task.selected[row * task.picks + j];
      if (k < begin || k >= end) continue;
      task.selected_log_p[row * task.picks + j] = static_cast<float>(sheet[k]);
    }
  }

  uint4 held[kV];
  RowSums sums = RowSums::none();
  const int mine = begin + static_cast<int>(threadIdx.x) * kL;
  const auto column = [&](int tile, int i) { return mine + (tile * kV + i) * kThreads * kL; };
  const int tiles = kHolds ? 1 : (end - begin + kV * kThreads * kL - 1) / (kV * kThreads * kL);
  bool is_staged = false;
#if __CUDA_ARCH__ >= 900
  is_staged = kHolds && begin < end;
#endif
  if (is_staged) prefetch.wait(turn);
  const T* const from = is_staged ? prefetch.stage - begin : sheet;
#pragma unroll
  for (int i = 0; i < kV; ++i) held[i] = loaded(from + column(0, i), end - column(0, i));
  if (is_staged) {
    __syncthreads();
    if (threadIdx.x == 0 && local + stride < task.rows) prefetch.start(sheet + stride * task.stride + begin, end - begin);
  }
  for (int tile = 0; tile < tiles; ++tile) {
    uint4 next[kV];
    if constexpr (!kHolds) {
#pragma unroll
      for (int i = 0; i < kV; ++i) next[i] = loaded(sheet + column(tile + 1, i), end - column(tile + 1, i));
    }
    if constexpr (kExponentiates) {
      exponentiate<T>(held, column(tile, 0), task.best != nullptr, sums);
    } else if constexpr (kPlain) {
      add_plain<T>(held, column(tile, 0), task.best != nullptr, sums);
    } else {
#pragma unroll
      for (int i = 0; i < kV; ++i) {
        const int k = column(tile, i);
        if (k < end) add_vector<T>(task, held[i], k, end - k, bar, sums);
      }
    }
    if constexpr (!kHolds) {
#pragma unroll
      for (int i = 0; i < kV; ++i) held[i] = next[i];
    }
  }

  const float own_max = sums.max;
  sums = of_warp<kPlain>(sums);
  if (lane == 0) parts[warp] = sums;
  __syncthreads();
  if (warp == 0) {
    const RowSums block = of_warp<kPlain>(lane < kWarps ? parts[lane] : RowSums::none());
    if (lane == 0) own[turn % 2] = {block, is_here ? score_of<kPlain>(task, target_product, own_target) : 0};
  }
  cluster_arrive();
  cluster_wait();
  if (warp == 0) {
    BlockPart other = {RowSums::none(), 0};
    if (lane < blocks) other = part_of(&own[turn % 2], lane);
    const RowSums row_sums = of_warp<kPlain>(other.sums);
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) other.target_score += __shfl_xor_sync(~0u, other.target_score, mask);
    if (lane == 0) whole = {row_sums, other.target_score};
  }
  __syncthreads();

  const LogZ log_z =
      task.given_log_z != nullptr ? LogZ{task.given_log_z[row], 0} : LogZ{whole.sums.max, logf(whole.sums.sum)};
  const auto loss_of_row = [&] {
    return is_ignored ? RowLoss{}
                      : row_loss(task.loss, log_z, whole.target_score, whole.sums.plain, {is_ours, task.first_class == 0});
  };
  const float factor = task.coefficient != nullptr ? task.coefficient[row] : 1;
  float partition = factor, even = 0, picked = 0;  // without targets: the derivative of A
  if (task.target != nullptr) {
    const RowLoss loss = loss_of_row();
    partition = factor * loss.partition, even = factor * loss.even, picked = factor * loss.picked;
  }
  if (task.selected != nullptr) {
    partition = 0;
    if (task.selected_gradient != nullptr)
      for (int64_t j = 0; j < task.picks; ++j) partition -= task.selected_gradient[row * task.picks + j];
  }
  const float shift = log_z.top * kLog2e + log_z.rest * kLog2e;
  // The derivative by the product at class k, without the terms of single classes.
  const auto derivative = [&](float product, int k) {
    if constexpr (kPlain) return partition * exp2_fast(fmaf(product, kLog2e, -shift));
    const float s = score_of<kPlain>(task, product, k);
    const float p = exp2_fast(fmaf(s - log_z.top, kLog2e, -log_z.rest * kLog2e));
    return (partition * p - even) * slope(raised<kPlain>(task, product, k), task.scale, task.cap);
  };
  if (task.has_gradient) {
    const bool is_nothing = partition == 0 && even == 0;
    const float own_factor = partition * exp2_fast(own_max * kLog2e - kLift - shift);
    for (int tile = 0; tile < tiles; ++tile) {
      if constexpr (!kHolds) {
#pragma unroll
        for (int i = 0; i < kV; ++i) held[i] = loaded(sheet + column(tile, i), end - column(tile, i));
      }
#pragma unroll
      for (int i = 0; i < kV; ++i) {
        const int k = column(tile, i);
        if (k >= end) continue;
        float x[kL];
        forget(held[i]);
        if (is_nothing) {
#pragma unroll
          for (int j = 0; j < kL; ++j) x[j] = 0;
        } else if constexpr (kExponentiates) {
          Lanes<__half>::open(held[i], x);
#pragma unroll
          for (int j = 0; j < kL; ++j) x[j] *= own_factor;
        } else {
          Lanes<T>::open(held[i], x);
#pragma unroll
          for (int j = 0; j < kL; ++j) x[j] = kPlain || k + j < end ? derivative(x[j], k + j) : 0;
        }
        *reinterpret_cast<uint4*>(sheet + k) = Lanes<T>::close(x);
      }
    }
  }
  if (threadIdx.x == 0 && rank == 0) {
    const RowSums& all = whole.sums;
    const RowLoss loss = loss_of_row();
    const float spread = all.shifted / all.sum, own_log_z = all.max + logf(all.sum);
    if (task.log_z != nullptr) task.log_z[row] = own_log_z;
    if (task.target_score != nullptr) task.target_score[row] = whole.target_score;
    if (task.nll != nullptr) task.nll[row] = loss.nll;
    if (task.penalty != nullptr) task.penalty[row] = loss.penalty;
    if (task.entropy != nullptr) task.entropy[row] = logf(all.sum) - spread;
    if (task.expected != nullptr) task.expected[row] = all.max + spread;
    if (task.best != nullptr) task.best[row] = all.best + task.first_class;
    if (task.better != nullptr) task.better[row] = all.better;
    if (task.moments != nullptr) {
      double* const m = task.moments + row * 5;
      m[0] = all.max, m[1] = all.sum, m[2] = all.shifted, m[3] = all.plain, m[4] = whole.target_score;
    }
  }
  if (task.target != nullptr || task.selected != nullptr) __syncthreads();
  // The few classes with a term of their own.
  const auto own_slope = [&](float product, int k) {
    return kPlain ? 1 : slope(raised<kPlain>(task, product, k), task.scale, task.cap);
  };
  if (is_here && task.has_gradient && threadIdx.x == 0) {
    const float g = derivative(target_product, own_target) - picked * own_slope(target_product, own_target);
    sheet[own_target] = static_cast<T>(factor == 0 ? 0 : g);
  }
  if (task.selected != nullptr) {
    const int64_t* const chosen = task.selected + row * task.picks;
    float* const out = task.selected_log_p + row * task.picks;
    for (int64_t j = threadIdx.x; j < task.picks; j += kThreads) {
      if (chosen[j] < begin || chosen[j] >= end) continue;
      const int k = static_cast<int>(chosen[j]);
      const float product = out[j];
      out[j] = (score_of<kPlain>(task, product, k) - log_z.top) - log_z.rest;
      if (!task.has_gradient) continue;
      float own_part = 0;
      bool is_first = true;
      for (int64_t i = 0; i < task.picks; ++i) {
        if (chosen[i] != k) continue;
        is_first = is_first && i >= j;
        own_part += task.selected_gradient[row * task.picks + i];
      }
      if (is_first) sheet[k] = static_cast<T>(derivative(product, k) + own_part * own_slope(product, k));
    }
  }
  }
  cluster_arrive();  // nobody leaves while others read its part
  cluster_wait();
}

template <class T, bool kPlain, bool kHolds>
void launch_rows(const RowTask& task, int cluster_size, int sm_major, cudaStream_t stream) {
  const auto kernel = head_rows<T, kPlain, kHolds>;
  const auto blocks = static_cast<unsigned>(cluster_size);
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(task.rows) * blocks);
  config.blockDim = dim3(kThreads);
  config.stream = stream;
  cudaLaunchAttribute cluster;
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {blocks, 1, 1};
  config.attrs = &cluster;
  config.numAttrs = sm_major >= 9 ? 1 : 0;
  if (kHolds && sm_major >= 9) {  // as many clusters as run at once, each with rows in turn
    config.dynamicSmemBytes = kThreads * kHeld<T> * 16;
    static std::atomic<int> at_once[kMostBlocks + 1];
    int clusters = at_once[blocks];
    if (clusters == 0) {
      check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(config.dynamicSmemBytes)),
            "the rows of a head");
      check(cudaOccupancyMaxActiveClusters(&clusters, kernel, &config), "the rows of a head");
      at_once[blocks] = clusters = std::max(1, clusters);
    }
    config.gridDim = dim3(static_cast<unsigned>(std::min<int64_t>(task.rows, clusters)) * blocks);
  }
  check(cudaLaunchKernelEx(&config, kernel, task), "the rows of a head");
}

template <class T>
void run_typed(RowTask task, int sm_major, cudaStream_t stream) {
  constexpr int kL = kLanes<T>, kBlock = kThreads * kHeld<T> * kL;
  const bool needs_sums = task.entropy != nullptr || task.expected != nullptr || task.moments != nullptr || task.better != nullptr || task.loss.smoothing > 0;
  const bool is_plain = !needs_sums && task.bias == nullptr && task.carrier == nullptr && task.scale == 1 && !(task.cap > 0);
  int blocks = 1;
  if (sm_major >= 9) {  // as few as hold the row; for few rows, as many as share the work
    while (blocks < kMostBlocks && blocks * kBlock < task.classes) blocks *= 2;
    while (blocks < kMostBlocks && task.rows * blocks < 128 && task.classes > blocks * kThreads * kL) blocks *= 2;
  }
  const bool holds = task.classes <= blocks * kBlock && task.has_gradient;
  if (!task.has_gradient && task.rows >= 512) blocks = 1;
  task.segment = ((task.classes + blocks - 1) / blocks + kL - 1) / kL * kL;
  if (is_plain && holds) launch_rows<T, true, true>(task, blocks, sm_major, stream);
  else if (is_plain) launch_rows<T, true, false>(task, blocks, sm_major, stream);
  else if (holds) launch_rows<T, false, true>(task, blocks, sm_major, stream);
  else launch_rows<T, false, false>(task, blocks, sm_major, stream);
}

}  // namespace

void run_rows(const RowTask& task, int sheet_type, int sm_major, cudaStream_t stream) {
  if (sheet_type == SELFNORM_F32) run_typed<float>(task, sm_major, stream);
  if (sheet_type == SELFNORM_F16) run_typed<__half>(task, sm_major, stream);
  if (sheet_type == SELFNORM_BF16) run_typed<__nv_bfloat16>(task, sm_major, stream);
}

}  // namespace selfnorm::gpu
