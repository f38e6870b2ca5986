// What is done once for all rows of a step: targets checked, losses and the derivatives of the biases summed.
#include <algorithm>
#include <cmath>

#include "gpu/cuda/context.cuh"
#include "gpu/cuda/head_rows.cuh"
#include "gpu/cuda/lanes.cuh"
#include "gpu/cuda/reduce.cuh"

namespace selfnorm::gpu {
namespace {

struct PrepareTask {
  int64_t rows, ignore_index, all_classes, classes, picks;
  const int64_t *target, *selected;
  const float *token_weight, *row_gradient;
  bool is_mean;
  float lift;
};

constexpr int kOneBlock = 1024;

__global__ void __launch_bounds__(kOneBlock) prepare(PrepareTask task, StepScalars* scalars, float* coefficient) {
  __shared__ float shared[kOneBlock];
  __shared__ int64_t shared_row[kOneBlock];
  float largest = 0, weight = 0;
  int64_t wrong = task.rows;  // the first row with a wrong target
  for (int64_t i = threadIdx.x; i < task.rows; i += kOneBlock) {
    float w = task.token_weight != nullptr ? task.token_weight[i] : 1;
    if (task.target != nullptr) {
      const int64_t target = task.target[i];
      if (target == task.ignore_index) w = 0;
      else if (target < 0 || target >= task.all_classes) wrong = min(wrong, i);
    }
    for (int64_t j = 0; task.selected != nullptr && j < task.picks; ++j) {
      const int64_t k = task.selected[i * task.picks + j];
      if (k < 0 || k >= task.classes) wrong = min(wrong, i);
    }
    weight += w;
    if (task.row_gradient != nullptr) w *= task.row_gradient[i];
    coefficient[i] = w;
    largest = fmaxf(largest, fabsf(w));
  }
  const auto sum = [](float a, float b) { return a + b; };
  const auto most = [](float a, float b) { return fmaxf(a, b); };
  largest = block_reduced(largest, shared, most);
  weight = block_reduced(weight, shared, sum);
  wrong = block_reduced(wrong, shared_row, [](int64_t a, int64_t b) { return min(a, b); });
  const float divisor = (largest > 0 ? largest : 1) / task.lift;
  for (int64_t i = threadIdx.x; i < task.rows; i += kOneBlock) coefficient[i] /= divisor;
  if (threadIdx.x != 0) return;
  const float inverse = !task.is_mean ? 1 : weight != 0 ? 1 / weight : 0;
  *scalars = {1, 0, divisor * inverse, inverse, -1, 0};
  if (wrong < task.rows) {
    scalars->wrong_row = wrong;
    scalars->wrong_target = task.target != nullptr ? task.target[wrong] : 0;
  }
}

struct LossSumTask {
  int64_t rows, ignore_index;
  const int64_t* target;
  const float *token_weight, *nll, *penalty;
  float* loss;
};

__global__ void __launch_bounds__(kOneBlock) loss_sum(LossSumTask task, const StepScalars* scalars) {
  __shared__ float shared[kOneBlock];
  float nll = 0, penalty = 0;
  for (int64_t i = threadIdx.x; i < task.rows; i += kOneBlock) {
    const float w = task.token_weight != nullptr ? task.token_weight[i] : 1;
    if (task.target[i] == task.ignore_index) continue;
    nll += w * task.nll[i];
    penalty += w * task.penalty[i];
  }
  const auto sum = [](float a, float b) { return a + b; };
  nll = block_reduced(nll, shared, sum) * scalars->inverse;
  penalty = block_reduced(penalty, shared, sum) * scalars->inverse;
  if (threadIdx.x != 0) return;
  const float nan = __int_as_float(0x7fffffff);  // a wrong target leaves no loss that looks like one
  const bool is_wrong = scalars->wrong_row >= 0;
  task.loss[0] = is_wrong ? nan : nll + penalty;
  task.loss[1] = is_wrong ? nan : nll;
  task.loss[2] = is_wrong ? nan : penalty;
}

constexpr int kColumnThreads = 128;

// A slab of rows of one vector of columns.
template <class T>
__global__ void column_slabs(RowTask task, float* partial) {
  constexpr int kL = kLanes<T>;
  const int64_t k = (blockIdx.x * int64_t{kColumnThreads} + threadIdx.x) * kL;
  if (k >= task.classes) return;
  const int64_t slab = (task.rows + kBiasSlabs - 1) / kBiasSlabs;
  const int64_t begin = blockIdx.y * slab, end = begin + slab < task.rows ? begin + slab : task.rows;
  float sum[kL] = {};
  for (int64_t i = begin; i < end; ++i) {
    float x[kL];
    Lanes<T>::open(*reinterpret_cast<const uint4*>(static_cast<const T*>(task.sheet) + i * task.stride + k), x);
#pragma unroll
    for (int j = 0; j < kL; ++j) sum[j] += x[j];
  }
  for (int j = 0; j < kL && k + j < task.classes; ++j) partial[blockIdx.y * task.classes + k + j] = sum[j];
}

__global__ void slabs_sum(int64_t classes, const float* partial, const StepScalars* scalars, float* d_bias, bool is_added) {
  const int64_t k = blockIdx.x * int64_t{kColumnThreads} + threadIdx.x;
  if (k >= classes) return;
  float sum = 0;
  for (int slab = 0; slab < kBiasSlabs; ++slab) sum += partial[slab * classes + k];
  d_bias[k] = scalars->scale * sum + (is_added ? d_bias[k] : 0);
}

template <class T>
void column_sums(const RowTask& task, float* partial, cudaStream_t stream) {
  const int64_t vectors = (task.classes + kLanes<T> - 1) / kLanes<T>;
  const dim3 grid(static_cast<unsigned>((vectors + kColumnThreads - 1) / kColumnThreads), kBiasSlabs);
  column_slabs<T><<<grid, kColumnThreads, 0, stream>>>(task, partial);
}

constexpr int kDifferenceThreads = 256;

// log p_k as (s_k - max) - log sum, in double.
struct LogShare {
  const RowTask& task;
  const float* sheet;
  double top, rest;

  __device__ LogShare(const RowTask& t, int64_t row)
      : task(t), sheet(static_cast<const float*>(t.sheet) + row * t.stride), top(t.moments[(t.first + row) * 5]),
        rest(log(t.moments[(t.first + row) * 5 + 1])) {}
  __device__ double operator()(int k) const {
    const float z = capped(task.scale * (sheet[k] + (task.bias != nullptr ? task.bias[k] : 0)), task.cap);
    return (static_cast<double>(task.carrier != nullptr ? z + task.carrier[k] : z) - top) - rest;
  }
};

__global__ void __launch_bounds__(kDifferenceThreads)
    row_difference(const __grid_constant__ RowTask p, const __grid_constant__ RowTask q, double visible, double* out) {
  __shared__ double shared[kDifferenceThreads];
  const LogShare log_p(p, blockIdx.x), log_q(q, blockIdx.x);
  const auto larger = [](double a, double b) { return b <= a ? a : b; };  // NaN stays
  double share_most = 0, log_most = 0, kl = 0;
  for (int k = threadIdx.x; k < p.classes; k += kDifferenceThreads) {
    const double a = log_p(k), b = log_q(k), share = exp(a);
    share_most = larger(share_most, fabs(share - exp(b)));
    if (share >= visible) log_most = larger(log_most, fabs(a - b));
    kl += share * (a - b);
  }
  share_most = block_reduced(share_most, shared, larger);
  log_most = block_reduced(log_most, shared, larger);
  kl = block_reduced(kl, shared, [](double a, double b) { return a + b; });
  if (threadIdx.x != 0) return;
  double* const to = out + (p.first + blockIdx.x) * 3;
  to[0] = share_most, to[1] = log_most, to[2] = kl;
}

// s_k - max of row i of the sheet.
__device__ inline float below_max(const RowTask& t, int64_t i, int64_t k) {
  const float z =
      capped(t.scale * (static_cast<const float*>(t.sheet)[i * t.stride + k] + (t.bias != nullptr ? t.bias[k] : 0)), t.cap);
  return (t.carrier != nullptr ? z + t.carrier[k] : z) - static_cast<float>(t.moments[(t.first + i) * 5]);
}

// A block a row, a warp a cluster.
__global__ void __launch_bounds__(kDifferenceThreads)
    cluster_masses(const __grid_constant__ RowTask t, const __grid_constant__ MassTask m) {
  constexpr float kLeastLog = -80;
  const int64_t i = blockIdx.x;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const float total = static_cast<float>(t.moments[(t.first + i) * 5 + 1]);
  for (int64_t j = warp; j < m.clusters; j += kDifferenceThreads / 32) {
    float sum = 0;
    for (uint32_t q = m.begin[j] + lane; q < m.begin[j + 1]; q += 32) sum += expf(below_max(t, i, m.order[q]));
    sum = warp_sum(sum);
    if (lane == 0) m.masses[(t.first + i) * m.clusters + j] = fmaxf(kLeastLog, logf(sum / total));
  }
}

__global__ void __launch_bounds__(kColumnThreads)
    class_shares(const __grid_constant__ RowTask t, const __grid_constant__ MassTask m) {
  const int64_t k = blockIdx.x * int64_t{kColumnThreads} + threadIdx.x;
  if (k >= t.classes) return;
  double sum = 0;
  for (int64_t i = 0; i < t.rows; ++i)
    sum += static_cast<double>(expf(below_max(t, i, k))) / t.moments[(t.first + i) * 5 + 1];
  m.shares[k] = (t.first > 0 ? m.shares[k] : 0) + sum;
}

// Derivatives by scores in float16 lose bits below 6e-5, as most probabilities of a large head are, so they are multiplied by
// the power of 2 with which none can be infinite: they are at most 1.5 + 2 alpha |A|, and |A| is about that of a float16 score.
float lift_of(const selfnorm_head_step& step) {
  constexpr float kLargest = 65504;
  if (step.type != SELFNORM_F16 || step.selected != nullptr) return 1;
  const float scale = std::max(1.0f, std::abs(step.options.logit_scale));
  const float most =
      scale * (1.5f + 2 * std::abs(step.options.penalty) * (scale * kLargest + std::abs(step.options.center)));
  return std::max(1.0f, std::exp2(std::floor(std::log2(kLargest / most))));
}

}  // namespace

void prepare_rows(const selfnorm_head_step& step, StepScalars* scalars, float* coefficient, cudaStream_t stream) {
  const selfnorm_head_options& o = step.options;
  const PrepareTask task{.rows = step.rows,
                         .ignore_index = o.ignore_index,
                         .all_classes = o.all_classes > 0 ? o.all_classes : step.classes,
                         .classes = step.classes,
                         .picks = step.picks,
                         .target = step.target,
                         .selected = step.selected,
                         .token_weight = step.token_weight,
                         .row_gradient = step.row_gradient,
                         .is_mean = o.is_mean != 0 && step.target != nullptr,
                         .lift = lift_of(step)};
  prepare<<<1, kOneBlock, 0, stream>>>(task, scalars, coefficient);
  check(cudaGetLastError(), "the check of the targets");
}
void sum_loss(const selfnorm_head_step& step, const StepScalars* scalars, const float* nll, const float* penalty,
              cudaStream_t stream) {
  loss_sum<<<1, kOneBlock, 0, stream>>>(
      {step.rows, step.options.ignore_index, step.target, step.token_weight, nll, penalty, step.loss},
      scalars);
  check(cudaGetLastError(), "the sum of the loss");
}

void difference_of_rows(const RowTask& p, const RowTask& q, double visible, double* out, cudaStream_t stream) {
  row_difference<<<static_cast<unsigned>(p.rows), kDifferenceThreads, 0, stream>>>(p, q, visible, out);
  check(cudaGetLastError(), "the difference of two heads");
}

void masses_of_rows(const RowTask& task, const MassTask& masses, cudaStream_t stream) {
  if (masses.masses != nullptr)
    cluster_masses<<<static_cast<unsigned>(task.rows), kDifferenceThreads, 0, stream>>>(task, masses);
  if (masses.shares != nullptr) {
    const unsigned blocks = static_cast<unsigned>((task.classes + kColumnThreads - 1) / kColumnThreads);
    class_shares<<<blocks, kColumnThreads, 0, stream>>>(task, masses);
  }
  check(cudaGetLastError(), "the masses of clusters");
}

void sum_columns(const RowTask& task, int sheet_type, const StepScalars* scalars, float* partial, float* d_bias,
                 bool is_added, cudaStream_t stream) {
  if (sheet_type == SELFNORM_F32) column_sums<float>(task, partial, stream);
  if (sheet_type == SELFNORM_F16) column_sums<__half>(task, partial, stream);
  if (sheet_type == SELFNORM_BF16) column_sums<__nv_bfloat16>(task, partial, stream);
  const unsigned blocks = static_cast<unsigned>((task.classes + kColumnThreads - 1) / kColumnThreads);
  slabs_sum<<<blocks, kColumnThreads, 0, stream>>>(task.classes, partial, scalars, d_bias, is_added);
  check(cudaGetLastError(), "the gradient of the biases");
}

}  // namespace selfnorm::gpu
