#include "gpu/cuda/energy_kernels.cuh"

#include "gpu/cuda/context.cuh"
#include "gpu/cuda/points.cuh"

namespace selfnorm::gpu {
namespace {

constexpr int kMostPoints = 16;
constexpr int kMoveThreads = 256;

// What a block keeps of its points: a_l and f'(z_l), each width x R; two deltas; room for products.
template <int R>
struct PassMemory {
  float* a[SELFNORM_MOST_LAYERS + 1];
  float* slope[SELFNORM_MOST_LAYERS + 1];
  float *delta, *below;
  float4* room;

  __device__ PassMemory(const EnergyTask& t, float* memory) {
    for (int l = 0; l <= t.plan.layers; ++l) {
      a[l] = memory, memory += t.layout.width[l] * R;
      if (l > 0) slope[l] = memory, memory += t.layout.width[l] * R;
    }
    delta = memory, memory += t.widest * R;
    below = memory, memory += t.widest * R;
    room = reinterpret_cast<float4*>(memory);
  }
};

__device__ bool is_residual(const EnergyTask& t, int l) {
  return t.plan.is_residual != 0 && l > 0 && t.layout.width[l] == t.layout.width[l + 1];
}

// a_0 .. a_L of the points first .. of x, those from `count` on as zeros.
template <int R>
__device__ void forward(const EnergyTask& t, const PassMemory<R>& m, const float* x, int64_t first, int64_t count) {
  const int d = t.plan.inputs, f = t.plan.fourier;
  for (int i = threadIdx.x; i < d * R; i += kPassThreads) {
    const int r = i / d, j = i % d;
    m.a[0][j * R + r] = first + r < count ? x[(first + r) * d + j] : 0;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < f * R; i += kPassThreads) {
    const int r = i % R, k = i / R;
    float phase = 0;
    for (int j = 0; j < d; ++j) phase = fmaf(t.to.theta[k * d + j], m.a[0][j * R + r], phase);
    sincosf(phase, &m.a[0][(d + f + k) * R + r], &m.a[0][(d + k) * R + r]);
  }
  if (f > 0) __syncthreads();
  for (int l = 0; l < t.plan.layers; ++l) {
    const int out = t.layout.width[l + 1];
    const bool adds = is_residual(t, l);
    product<R>(t.to.turned + t.layout.weight[l], out, t.layout.width[l], out, m.a[l], m.room,
               [&](int o, int q, float4 z) {
                 const float start = t.to.theta[t.layout.bias[l] + o];
                 float4 value = {0, 0, 0, 0}, slope;
                 if (adds) value = reinterpret_cast<const float4*>(m.a[l] + o * R)[q];
                 const auto one = [&](float x, float& y, float& dy) {
                   const Activated<float> made = activated(t.plan.activation, x + start);
                   y += made.value, dy = made.slope;
                 };
                 one(z.x, value.x, slope.x), one(z.y, value.y, slope.y), one(z.z, value.z, slope.z), one(z.w, value.w, slope.w);
                 reinterpret_cast<float4*>(m.a[l + 1] + o * R)[q] = value;
                 reinterpret_cast<float4*>(m.slope[l + 1] + o * R)[q] = slope;
               });
  }
}

// w . a_L of a point, by one warp: all its lanes have it.
template <int R>
__device__ float score_of_point(const EnergyTask& t, const PassMemory<R>& m, int r) {
  const int last = t.plan.layers;
  float sum = 0;
  for (int o = threadIdx.x % 32; o < t.layout.width[last]; o += 32)
    sum = fmaf(t.to.theta[t.layout.output + o], m.a[last][o * R + r], sum);
#pragma unroll
  for (int half = 16; half > 0; half /= 2) sum += __shfl_xor_sync(~0u, sum, half);
  return sum;
}

template <int R>
__device__ void backward(const EnergyTask& t, const PassMemory<R>& m, const float* by_score, float* partial, bool is_added) {
  const int layers = t.plan.layers;
  const auto put = [&](int place, float value) { partial[place] = is_added ? partial[place] + value : value; };
  const Quad<R> d = Quad<R>::load(by_score);
  for (int o = threadIdx.x; o < t.layout.width[layers]; o += kPassThreads) {
    const float w = t.to.theta[t.layout.output + o];
    put(t.layout.output + o, d.dot(Quad<R>::load(m.a[layers] + o * R)));
#pragma unroll
    for (int r = 0; r < R; ++r) m.delta[o * R + r] = w * d.x[r];
  }
  float *delta = m.delta, *below = m.below;
  for (int l = layers - 1; l >= 0; --l) {
    const int in = t.layout.width[l], out = t.layout.width[l + 1];
    __syncthreads();
    // D = delta f'(z), in the place of f'.
    float* const local = m.slope[l + 1];
    for (int i = threadIdx.x; i < out * R; i += kPassThreads) local[i] *= delta[i];
    __syncthreads();
    for (int o = threadIdx.x; o < out; o += kPassThreads) {
      float sum = 0;
#pragma unroll
      for (int r = 0; r < R; ++r) sum += local[o * R + r];
      put(t.layout.bias[l] + o, sum);
    }
    for (int first = 0; first < in; first += kPassThreads) {
      const int columns = min(kPassThreads, (in - first + 31) / 32 * 32), groups = kPassThreads / columns;
      const int i = first + threadIdx.x % columns, group = threadIdx.x / columns;
      if (group >= groups || i >= in) continue;
      const Quad<R> own = Quad<R>::load(m.a[l] + i * R);
#pragma unroll 4
      for (int o = out * group / groups; o < out * (group + 1) / groups; ++o)
        put(t.layout.weight[l] + o * in + i, own.dot(Quad<R>::load(local + o * R)));
    }
    // Of the inputs only the phases need their derivatives.
    const int skipped = l == 0 ? t.plan.inputs : 0;
    if (l == 0 && t.plan.fourier == 0) break;
    const bool adds = is_residual(t, l);
    product<R>(t.to.theta + t.layout.weight[l] + skipped, in, out, in - skipped, local, m.room, [&](int i, int q, float4 sum) {
      if (adds) {
        const float4 more = reinterpret_cast<const float4*>(delta + i * R)[q];
        sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
      }
      reinterpret_cast<float4*>(below + i * R)[q] = sum;
    });
    float* const other = delta;
    delta = below, below = other;
  }
  const int f = t.plan.fourier, inputs = t.plan.inputs;
  for (int i = threadIdx.x; i < f * inputs; i += kPassThreads) {
    const int k = i / inputs, j = i % inputs;
    float sum = 0;
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const float by_phase = m.a[0][(inputs + k) * R + r] * delta[(f + k) * R + r] - m.a[0][(inputs + f + k) * R + r] * delta[k * R + r];
      sum = fmaf(by_phase, m.a[0][j * R + r], sum);
    }
    put(i, sum);
  }
}

template <int R>
__global__ void __launch_bounds__(kPassThreads) energy_pass(const __grid_constant__ EnergyTask t, int step) {
  extern __shared__ float4 memory[];
  __shared__ __align__(16) float by_score[kMostPoints];
  __shared__ EnergySums point_sums[kMostPoints];
  const selfnorm_energy_state& state = t.to.states[step % 2];
  if (state.is_halted != 0) return;
  const PassMemory<R> m(t, reinterpret_cast<float*>(memory));
  const int64_t points = t.plan.rows + t.plan.samples;
  const bool is_warm = t.to.at[step].is_warm != 0;
  const float* const x = t.to.points + step * points * t.plan.inputs;
  EnergySums sums = EnergySums::none();
  bool is_added = false;
  for (int64_t first = int64_t{blockIdx.x} * R; first < points; first += int64_t{gridDim.x} * R) {
    forward<R>(t, m, x, first, points);
    const int r = threadIdx.x / 32;
    if (r < R) {
      const float score = score_of_point<R>(t, m, r);
      if (threadIdx.x % 32 == 0) {
        EnergySums own = EnergySums::none();
        const int64_t p = first + r;
        by_score[r] = p < points ? static_cast<float>(energy_point(t.plan, p >= t.plan.rows, score,
                                                                   t.to.log_q != nullptr ? t.to.log_q[step * points + p] : 0,
                                                                   state.b, own))
                                 : 0;
        point_sums[r] = own;
      }
    }
    __syncthreads();
    if (threadIdx.x == kPassThreads - 1) {  // the last warp has nothing to do above
      EnergySums own = EnergySums::none();
      for (int p = 0; p < R; ++p) own.max = fmax(own.max, point_sums[p].max);
      for (int p = 0; p < R; ++p) {
        own.loss += point_sums[p].loss, own.d_b += point_sums[p].d_b;
        if (point_sums[p].sum == 0) continue;
        const double e = exp(point_sums[p].max - own.max);
        own.sum += e, own.square += e * e;
      }
      sums.merge(own);
    }
    if (!is_warm) backward<R>(t, m, by_score, t.to.partial + int64_t{blockIdx.x} * t.layout.parameters, is_added);
    is_added = true;
    __syncthreads();
  }
  if (threadIdx.x == kPassThreads - 1) t.to.sums[blockIdx.x] = sums;
}

template <int R>
__global__ void __launch_bounds__(kPassThreads) energy_scores(const __grid_constant__ EnergyTask t, const float* x, int64_t count,
                                                              double* out) {
  extern __shared__ float4 memory[];
  const PassMemory<R> m(t, reinterpret_cast<float*>(memory));
  for (int64_t first = int64_t{blockIdx.x} * R; first < count; first += int64_t{gridDim.x} * R) {
    forward<R>(t, m, x, first, count);
    const int r = threadIdx.x / 32;
    if (r < R && first + r < count) {
      const float score = score_of_point<R>(t, m, r);
      if (threadIdx.x % 32 == 0) out[first + r] = score;
    }
    __syncthreads();
  }
}

__global__ void __launch_bounds__(kSumColumns* kSumGroups) sum_gradients(const __grid_constant__ EnergyTask t, int step) {
  if (t.to.states[step % 2].is_halted != 0) return;
  const bool is_warm = t.to.at[step].is_warm != 0;
  sum_partials(t.to.partial, t.blocks, t.layout.parameters, t.to.gradient, t.to.squares, [&](int64_t) { return !is_warm; });
}

// Where a parameter is in the transposed copy.
__device__ int turned_place(const EnergyTask& t, int j) {
  for (int l = 0; l < t.plan.layers; ++l) {
    const int in = t.layout.width[l], at = j - t.layout.weight[l];
    if (j < t.layout.bias[l] && at >= 0) return t.layout.weight[l] + at % in * t.layout.width[l + 1] + at / in;
  }
  return j;
}

__global__ void __launch_bounds__(kMoveThreads) move_energy(const __grid_constant__ EnergyTask t, int step) {
  __shared__ double shared[kMoveThreads / 32][5];
  __shared__ double tops[kMoveThreads / 32][1];
  __shared__ double top;
  __shared__ EnergyMove move;
  __shared__ float correction[2];
  const selfnorm_energy_state& before = t.to.states[step % 2];
  selfnorm_energy_state& after = t.to.states[(step + 1) % 2];
  if (before.is_halted != 0) {
    if (blockIdx.x == 0 && threadIdx.x == 0) after = before;
    return;
  }
  const selfnorm_energy_at at = t.to.at[step];
  double max[1] = {-INFINITY};
  for (int b = threadIdx.x; b < t.blocks; b += kMoveThreads) max[0] = fmax(max[0], t.to.sums[b].max);
  block_reduce<1, true>(max, tops);
  if (threadIdx.x == 0) top = max[0];
  __syncthreads();
  double own[5] = {0, 0, 0, 0, 0};  // loss, d_b, sum, square; the norm of the gradient
  for (int b = threadIdx.x; b < t.blocks; b += kMoveThreads) {
    const EnergySums part = t.to.sums[b];
    own[0] += part.loss, own[1] += part.d_b;
    if (part.sum == 0) continue;
    const double e = exp(part.max - top);
    own[2] += e * part.sum, own[3] += e * e * part.square;
  }
  for (int b = threadIdx.x; b * kSumColumns < t.layout.parameters; b += kMoveThreads) own[4] += t.to.squares[b];
  block_reduce(own, shared);
  if (threadIdx.x == 0) {
    selfnorm_energy_state state = before;
    selfnorm_energy_record record = {};
    move = energy_move(t.plan, {own[0], own[1], top, own[2], own[3]}, own[4], at, state, record);
    correction[0] = static_cast<float>(1 / (1 - pow(0.9, state.steps)));
    correction[1] = static_cast<float>(1 / (1 - pow(0.999, state.steps)));
    if (blockIdx.x == 0) {
      after = state;
      if (at.is_continued == 0) t.to.records[step] = record;
    }
  }
  __syncthreads();
  const int j = blockIdx.x * kMoveThreads + threadIdx.x;
  if (j >= t.layout.parameters) return;
  if (move.remembers) t.to.remembered[j] = t.to.theta[j];
  if (move.event != SELFNORM_STEP_MOVED || at.is_warm != 0) return;
  float theta = t.to.theta[j], mean = t.to.mean[j], square = t.to.square[j];
  adam_move(static_cast<float>(move.clipping * t.to.gradient[j]), static_cast<float>(move.rate),
            static_cast<float>(1 - move.rate * t.plan.decay), correction[0], correction[1], theta, mean, square);
  t.to.theta[j] = theta, t.to.mean[j] = mean, t.to.square[j] = square;
  t.to.turned[turned_place(t, j)] = theta;
}

__global__ void turn(const __grid_constant__ EnergyTask t) {
  const int j = blockIdx.x * kMoveThreads + threadIdx.x;
  if (j < t.layout.parameters) t.to.turned[turned_place(t, j)] = t.to.theta[j];
}

unsigned move_blocks(const EnergyTask& t) { return static_cast<unsigned>((t.layout.parameters + kMoveThreads - 1) / kMoveThreads); }

template <class Body>
void with_points(int points, const Body& body) {
  if (points == 4) body.template operator()<4>();
  if (points == 8) body.template operator()<8>();
  if (points == 12) body.template operator()<12>();
  if (points == 16) body.template operator()<16>();
}

}  // namespace

size_t pass_memory(const EnergyTask& t, int points) {
  size_t floats = 2 * static_cast<size_t>(t.widest) + kPassThreads;
  for (int l = 0; l <= t.plan.layers; ++l) floats += static_cast<size_t>(t.layout.width[l]) * (l > 0 ? 2 : 1);
  return floats * static_cast<size_t>(points) * sizeof(float);
}

void prepare_pass(const EnergyTask& t, int points) {
  with_points(points, [&]<int R>() {
    const int bytes = static_cast<int>(pass_memory(t, points));
    check(cudaFuncSetAttribute(energy_pass<R>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "a pass of an energy");
    check(cudaFuncSetAttribute(energy_scores<R>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "a pass of an energy");
  });
}

void launch_step(const EnergyTask& t, int points, int step, cudaStream_t stream) {
  with_points(points, [&]<int R>() {
    energy_pass<R><<<static_cast<unsigned>(t.blocks), kPassThreads, pass_memory(t, points), stream>>>(t, step);
  });
  sum_gradients<<<static_cast<unsigned>(gradient_blocks(t)), kSumColumns * kSumGroups, 0, stream>>>(t, step);
  launch_move(t, step, stream);
}

void launch_move(const EnergyTask& t, int step, cudaStream_t stream) {
  move_energy<<<move_blocks(t), kMoveThreads, 0, stream>>>(t, step);
  check(cudaGetLastError(), "a step of an energy");
}

void launch_turn(const EnergyTask& t, cudaStream_t stream) {
  turn<<<move_blocks(t), kMoveThreads, 0, stream>>>(t);
  check(cudaGetLastError(), "the weights of an energy");
}

void launch_scores(const EnergyTask& t, int points, const float* x, int64_t count, double* out, cudaStream_t stream) {
  const int64_t tiles = (count + points - 1) / points;
  with_points(points, [&]<int R>() {
    energy_scores<R><<<static_cast<unsigned>(tiles < 1024 ? tiles : 1024), kPassThreads, pass_memory(t, points), stream>>>(
        t, x, count, out);
  });
  check(cudaGetLastError(), "the scores of an energy");
}

int gradient_blocks(const EnergyTask& t) { return (t.layout.parameters + kSumColumns - 1) / kSumColumns; }

}  // namespace selfnorm::gpu
