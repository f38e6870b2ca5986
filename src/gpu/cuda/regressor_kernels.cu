#include "gpu/cuda/regressor_kernels.cuh"

#include "gpu/cuda/context.cuh"
#include "gpu/cuda/regressor_row.cuh"

namespace selfnorm::gpu {
namespace {

constexpr int kMostPoints = 20;  // of a tile
constexpr int kMoveThreads = 256;

__device__ bool is_halted(const RegressorTask& t, int step) { return step > 0 && t.to.records[step - 1].event != SELFNORM_STEP_MOVED; }

template <int R>
__global__ void __launch_bounds__(kPassThreads) regressor_pass(const __grid_constant__ RegressorTask t, int step) {
  extern __shared__ float4 memory[];
  if (is_halted(t, step)) return;
  const selfnorm_regressor_plan& p = t.plan;
  const RegressorLayout& layout = t.layout;
  const selfnorm_regressor_at now = t.to.at[step];
  const bool is_warm = now.is_warm != 0;
  const int points = is_warm ? 1 : 1 + p.samples;
  RowPass m{t, reinterpret_cast<double*>(memory), reinterpret_cast<float*>(reinterpret_cast<double*>(memory) + t.at.doubles),
            t.to.partial + blockIdx.x * layout.parameters, nullptr, false};
  for (const RegressorNetwork* net : {&layout.features, &layout.tilt_features})
    for (int j = threadIdx.x; net->embeddings >= 0 && net->embeddings + j < net->end; j += kPassThreads) m.partial[net->embeddings + j] = 0;
  RegressorSums sums = {};
  for (int row = blockIdx.x; row < now.rows; row += gridDim.x) {
    const int64_t place = int64_t{step} * p.rows + row;
    const double weight = p.has_weight != 0 ? t.to.weight[place] : 1, share = 1.0 / now.rows;
    m.own = t.to.levels + place * p.categorical;
    for (int i = threadIdx.x; i < p.numbers; i += kPassThreads) m.at(t.at.numbers)[i] = t.to.numbers[place * p.numbers + i];
    __syncthreads();
    m.forward(layout.features, m.at(t.at.numbers));
    const RegressorNetwork& read = p.has_tilt_features != 0 ? layout.tilt_features : layout.features;
    m.forward(layout.mixture, m.output(layout.features));
    if (!is_warm) {
      if (p.has_tilt_features != 0) m.forward(layout.tilt_features, m.at(t.at.numbers));
      m.forward(layout.context, m.output(read));
      if (p.has_normalizer != 0) m.forward(layout.normalizer, m.output(read));
    }
    prepare_mixture(m);
    __syncthreads();
    make_points(m, place, points);
    __syncthreads();
    evaluate_mixture(m, points);
    __syncthreads();
    if (is_warm) {
      if (threadIdx.x == 0) {
        m.of(t.at.by_tail)[0] = -weight * share;
        m.of(t.at.by_defended)[0] = 0;
        sums.loss -= weight * m.of(t.at.tail)[0];
      }
    } else {
      for (int tile = 0; tile < t.tiles; ++tile) {
        tilt_forward<R>(m, tile * R, points);
        tilt_scores<R>(m, tile * R, points);
        __syncthreads();
      }
      if (threadIdx.x < 32) {
        double d_b = 0;
        const double b = p.has_normalizer != 0 ? m.output(layout.normalizer)[0] : 0;
        const RegressorSums own = compare(m, points, weight, share, b, d_b);
        if (threadIdx.x == 0) {
          sums.add(own);
          if (p.has_normalizer != 0) m.at(t.at.by[layout.normalizer.last - 1])[0] = static_cast<float>(d_b);
        }
      }
    }
    __syncthreads();
    mixture_backward(m, points);
    if (!is_warm) {
      for (int tile = 0; tile < t.tiles; ++tile) {
        if (t.tiles > 1) tilt_forward<R>(m, tile * R, points);
        tilt_backward<R>(m, tile * R, points);
      }
      if (p.has_normalizer != 0) m.backward(layout.normalizer, m.output(read), false, [](int, float) {});
      float* const dh_tilt = m.at(t.at.dh_tilt);
      m.backward(layout.context, m.output(read), true, [&](int i, float sum) { dh_tilt[i] = sum; });
    }
    float* const dh = m.at(t.at.dh);
    const bool adds = !is_warm && p.has_tilt_features == 0;
    m.backward(layout.mixture, m.output(layout.features), true,
               [&](int i, float sum) { dh[i] = adds ? sum + m.at(t.at.dh_tilt)[i] : sum; });
    m.backward_features(layout.features, dh);
    if (!is_warm && p.has_tilt_features != 0) m.backward_features(layout.tilt_features, m.at(t.at.dh_tilt));
    __syncthreads();
    m.is_added = true;
  }
  if (threadIdx.x == 0) t.to.sums[blockIdx.x] = sums;
}

__global__ void __launch_bounds__(kSumColumns* kSumGroups) sum_gradients(const __grid_constant__ RegressorTask t, int step) {
  if (is_halted(t, step)) return;
  const selfnorm_regressor_at& at = t.to.at[step];
  sum_partials(t.to.partial, min(t.blocks, at.rows), t.layout.parameters, t.to.gradient, t.to.squares,
               [&](int64_t j) { return t.layout.is_trained(static_cast<int>(j), at.is_warm != 0); });
}

// Where a parameter is in the transposed copy.
__device__ int turned_place(const RegressorTask& t, int j) {
  for (int l = 0; l < t.layout.layers; ++l) {
    const RegressorLayer& layer = t.layout.layer[l];
    const int at = j - layer.weight;
    if (j < layer.bias && at >= 0) return layer.weight + at % layer.in * layer.out + at / layer.in;
  }
  return j;
}

__global__ void __launch_bounds__(kMoveThreads) move_regressor(const __grid_constant__ RegressorTask t, int step) {
  __shared__ double shared[kMoveThreads / 32][5];
  __shared__ double clipping;
  __shared__ float correction[2];
  __shared__ int64_t event;
  if (is_halted(t, step)) {
    if (blockIdx.x == 0 && threadIdx.x == 0) t.to.records[step].event = SELFNORM_STEP_LOST;  // not taken
    return;
  }
  const selfnorm_regressor_at at = t.to.at[step];
  double own[5] = {0, 0, 0, 0, 0};
  for (int b = threadIdx.x; b < t.blocks; b += kMoveThreads) {
    const RegressorSums part = t.to.sums[b];
    own[0] += part.loss, own[1] += part.log_ratio, own[2] += part.effective, own[3] += part.b;
  }
  for (int64_t b = threadIdx.x; b * kSumColumns < t.layout.parameters; b += kMoveThreads) own[4] += t.to.squares[b];
  block_reduce(own, shared);
  if (threadIdx.x == 0) {
    selfnorm_regressor_record record = {};
    clipping = regressor_move(t.plan, {own[0], own[1], own[2], own[3]}, own[4], at, record);
    event = record.event;
    correction[0] = static_cast<float>(1 / (1 - pow(0.9, static_cast<double>(at.step + 1))));
    correction[1] = static_cast<float>(1 / (1 - pow(0.999, static_cast<double>(at.step + 1))));
    if (blockIdx.x == 0) t.to.records[step] = record;
  }
  __syncthreads();
  const int j = blockIdx.x * kMoveThreads + threadIdx.x;
  if (j >= t.layout.parameters || event != SELFNORM_STEP_MOVED) return;
  float theta = t.to.theta[j], mean = t.to.mean[j], square = t.to.square[j];
  adam_move(static_cast<float>(clipping * t.to.gradient[j]), static_cast<float>(t.layout.rate(t.plan, at, j)), static_cast<float>(1 - at.rate * t.plan.decay),
            correction[0], correction[1], theta, mean, square);
  if (t.plan.is_scale_shared != 0 && t.layout.is_of_scale(t.plan, j)) theta = 0;
  const float keep = average_decay(t.plan, at.step);
  t.to.average[j] = keep * t.to.average[j] + (1 - keep) * theta;
  t.to.theta[j] = theta, t.to.mean[j] = mean, t.to.square[j] = square;
  t.to.turned[turned_place(t, j)] = theta;
}

__global__ void turn(const __grid_constant__ RegressorTask t) {
  const int j = blockIdx.x * kMoveThreads + threadIdx.x;
  if (j < t.layout.parameters) t.to.turned[turned_place(t, j)] = t.to.theta[j];
}

unsigned move_blocks(const RegressorTask& t) { return static_cast<unsigned>((t.layout.parameters + kMoveThreads - 1) / kMoveThreads); }

template <class Body>
void with_points(int points, const Body& body) {
  if (points == 4) body.template operator()<4>();
  if (points == 8) body.template operator()<8>();
  if (points == 12) body.template operator()<12>();
  if (points == 16) body.template operator()<16>();
  if (points == 20) body.template operator()<20>();
}

}  // namespace

void place_row(RegressorTask& t) {
  const selfnorm_regressor_plan& p = t.plan;
  const int all = p.has_tilt != 0 ? 1 + p.samples : 1, cells = p.components * p.targets;
  t.tiles = (all + kMostPoints - 1) / kMostPoints;
  t.points = ((all + t.tiles - 1) / t.tiles + 3) / 4 * 4;
  t.tiles = (all + t.points - 1) / t.points;
  int& doubles = t.at.doubles = 0;
  const auto take = [](int& from, int count, int whole) {
    const int place = from;
    from += (count + whole - 1) / whole * whole;
    return place;
  };
  for (int* place : {&t.at.constant, &t.at.share}) *place = take(doubles, p.components, 2);
  for (int* place : {&t.at.mean, &t.at.scale, &t.at.slope}) *place = take(doubles, cells, 2);
  t.at.terms = take(doubles, all * p.components, 2);
  for (int* place : {&t.at.base, &t.at.tail, &t.at.defended, &t.at.score, &t.at.by_tail, &t.at.by_defended}) *place = take(doubles, all, 2);
  int& floats = t.at.floats = 0;
  t.at.numbers = take(floats, p.numbers, 4);
  t.at.targets = take(floats, all * p.targets, 4);
  t.at.dh = take(floats, t.layout.width(t.layout.features), 4);
  t.at.dh_tilt = take(floats, t.layout.width(p.has_tilt_features != 0 ? t.layout.tilt_features : t.layout.features), 4);
  for (int l = 0; l < t.layout.layers; ++l) {
    const bool is_of_points = l >= t.layout.tilt.first && l < t.layout.tilt.last;
    for (int* place : {&t.at.value[l], &t.at.by[l]}) *place = take(floats, t.layout.layer[l].out * (is_of_points ? t.points : 1), 4);
  }
  t.at.by_score = take(floats, t.points, 4);
  t.at.room = take(floats, kPassThreads * t.points, 4);
}

size_t row_memory(const RegressorTask& t) {
  return static_cast<size_t>(t.at.doubles) * sizeof(double) + static_cast<size_t>(t.at.floats) * sizeof(float);
}

void prepare_rows(const RegressorTask& t) {
  with_points(t.points, [&]<int R>() {
    check(cudaFuncSetAttribute(regressor_pass<R>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(row_memory(t))),
          "a pass of a regressor");
  });
}

void launch_step(const RegressorTask& t, int step, cudaStream_t stream) {
  with_points(t.points, [&]<int R>() {
    regressor_pass<R><<<static_cast<unsigned>(t.blocks), kPassThreads, row_memory(t), stream>>>(t, step);
  });
  sum_gradients<<<static_cast<unsigned>(gradient_blocks(t)), kSumColumns * kSumGroups, 0, stream>>>(t, step);
  move_regressor<<<move_blocks(t), kMoveThreads, 0, stream>>>(t, step);
  check(cudaGetLastError(), "a step of a regressor");
}

void launch_turn(const RegressorTask& t, cudaStream_t stream) {
  turn<<<move_blocks(t), kMoveThreads, 0, stream>>>(t);
  check(cudaGetLastError(), "the weights of a regressor");
}

int gradient_blocks(const RegressorTask& t) { return static_cast<int>((t.layout.parameters + kSumColumns - 1) / kSumColumns); }

}  // namespace selfnorm::gpu
