// Log-linear models (gpu/module_classes.h): the scores of some rows are a sheet of rows x classes, of which the host reads the
// moments and gives derivatives back; the sheet becomes them in place, and a product makes the gradient. Theta is
// feature-major, so dense rows are products without a transposition, and sparse ones read and write whole rows of theta.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "gpu/cuda/context.cuh"
#include "gpu/cuda/head_rows.cuh"
#include "gpu/cuda/reduce.cuh"

namespace selfnorm::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kPerLane = 4;           // classes of a lane in a sum over a column's rows
constexpr int64_t kClassUnit = 128;   // of the sheet's stride
constexpr int kNormBlocks = 256;

uint64_t aligned(uint64_t bytes) { return (bytes + 255) / 256 * 256; }
unsigned tiles_of(int64_t count, int64_t each) { return static_cast<unsigned>((count + each - 1) / each); }

struct LinearLayout {
  uint64_t slabs, products, moments, sheet, bytes;
  int64_t stride;

  explicit LinearLayout(const selfnorm_linear_step& s) {
    stride = (s.classes + kClassUnit - 1) / kClassUnit * kClassUnit;
    slabs = aligned(sizeof(StepScalars));
    products = slabs + aligned(static_cast<uint64_t>(s.classes) * kBiasSlabs * sizeof(float));
    moments = products + kProductWorkspace;
    sheet = moments + aligned(static_cast<uint64_t>(s.count) * 5 * sizeof(double));
    bytes = sheet + static_cast<uint64_t>(s.count) * static_cast<uint64_t>(stride) * sizeof(float);
  }
};

struct LinearTask {
  selfnorm_linear_step s;
  int64_t stride;
  float* sheet;
  double* moments;
};

__global__ void begin(StepScalars* scalars) { *scalars = {1, 0, 1, 1, -1, 0}; }

// A row and a tile of classes: sum_j x_j theta_j.
__global__ void __launch_bounds__(kThreads) sparse_scores(const __grid_constant__ LinearTask t) {
  const int64_t i = blockIdx.x, k = blockIdx.y * int64_t{kThreads} + threadIdx.x;
  if (k >= t.s.classes) return;
  float sum = 0;
#pragma unroll 4
  for (uint64_t p = t.s.row_begin[t.s.first + i]; p < t.s.row_begin[t.s.first + i + 1]; ++p) {
    const uint32_t j = t.s.column[p];
    const int64_t row = t.s.feature != nullptr ? t.s.feature[j] : j;
    sum = fmaf(t.s.value[p], t.s.theta[row * t.s.classes + k], sum);
  }
  t.sheet[i * t.stride + k] = sum;
}

// Scores become derivatives: by_log_z p_k + by_score [k = target].
__global__ void __launch_bounds__(kThreads) derive(const __grid_constant__ LinearTask t) {
  const int64_t i = blockIdx.x, k = blockIdx.y * int64_t{kThreads} + threadIdx.x;
  if (k >= t.s.classes) return;
  const double* const m = t.moments + i * 5;
  const float by = static_cast<float>(t.s.by_log_z[i] / m[1]), top = static_cast<float>(m[0]);
  float* const at = t.sheet + i * t.stride + k;
  const float s = *at + t.s.bias[k] + (t.s.carrier != nullptr ? t.s.carrier[k] : 0);
  float d = by * expf(s - top);
  if (k == t.s.target[t.s.first + i]) d += static_cast<float>(t.s.by_score[i]);
  *at = d;
}

// A column and a tile of classes: sum over its rows of x_i d_i.
__global__ void __launch_bounds__(kThreads) sparse_gradient(const __grid_constant__ LinearTask t) {
  __shared__ float shared[kListWarps][32 * kPerLane];
  const int64_t j = blockIdx.x, mine = blockIdx.y * int64_t{32 * kPerLane} + threadIdx.x % 32;
  // The rows of the column from row `bound` on.
  const auto from = [&](int64_t bound) {
    uint64_t low = t.s.column_begin[j], high = t.s.column_begin[j + 1];
    while (low < high) {
      const uint64_t middle = (low + high) / 2;
      if (t.s.row[middle] < bound) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  ListSum<kPerLane> sum;
  sum.over(from(t.s.first), from(t.s.first + t.s.count), [&](unsigned long long p, float(&own)[kPerLane]) {
    const float* const d = t.sheet + (t.s.row[p] - t.s.first) * t.stride;
    const float x = t.s.row_value[p];
#pragma unroll
    for (int c = 0; c < kPerLane; ++c)
      if (mine + 32 * c < t.s.classes) own[c] = fmaf(x, d[mine + 32 * c], own[c]);
  });
  sum.finish(shared, [&](int c, float all) {
    const int64_t k = mine + 32 * c;
    if (k >= t.s.classes) return;
    float* const to = t.s.gradient + j * t.s.classes + k;
    *to = t.s.is_added != 0 ? *to + all : all;
  });
}

void verify(const selfnorm_linear_step& s) {
  const auto must = [](bool holds, const char* what) {
    if (!holds) throw Failure(std::string("a step of a log-linear model: ") + what);
  };
  must(s.size == sizeof(s), "the caller was built for another version of the module");
  must(s.count > 0 && s.columns > 0 && s.classes > 0, "found no rows, columns or classes; expected at least one of each");
  must(s.classes <= (1 << 30), "found more than 2^30 classes");
  must(s.theta != nullptr && s.bias != nullptr && s.target != nullptr, "parameters or targets are missing");
  must(s.dense != nullptr || (s.row_begin != nullptr && s.column_begin != nullptr), "rows are missing");
  const uint64_t needed = LinearLayout(s).bytes;
  if (s.workspace_bytes >= needed) return;
  char text[160];
  std::snprintf(text, sizeof(text), "the workspace has %.1f MiB; these rows of a log-linear model need %.1f MiB: use fewer at once",
                static_cast<double>(s.workspace_bytes) / (1 << 20), static_cast<double>(needed) / (1 << 20));
  throw Failure(text);
}

class LinearStep {
 public:
  LinearStep(selfnorm_cuda_context& context, const selfnorm_linear_step& step)
      : context_(context), s_(step), layout_(step), stream_(static_cast<cudaStream_t>(step.stream)) {
    verify(step);
    task_ = {step, layout_.stride, place<float>(layout_.sheet), place<double>(layout_.moments)};
  }

  void scores() {
    begin<<<1, 1, 0, stream_>>>(scalars());
    if (s_.dense != nullptr)
      product({SELFNORM_F32, SELFNORM_F32, false, false, s_.classes, s_.count, s_.columns, s_.classes, s_.columns, layout_.stride,
               kProductWorkspace},
              s_.theta, s_.dense + s_.first * s_.columns, task_.sheet, false);
    else
      sparse_scores<<<rows_by_classes(kThreads), kThreads, 0, stream_>>>(task_);
    RowTask rows = sheet();
    rows.bias = s_.bias;
    rows.carrier = s_.carrier;
    rows.scale = 1;
    rows.loss = {0, 0, 0, static_cast<float>(s_.classes)};
    rows.ignore_index = -1;
    rows.target = s_.target + s_.first;
    rows.moments = task_.moments;
    rows.better = s_.better;
    run_rows(rows, SELFNORM_F32, context_.properties.major, stream_);
    if (s_.moments != nullptr)
      check(cudaMemcpyAsync(s_.moments, task_.moments, static_cast<uint64_t>(s_.count) * 5 * sizeof(double),
                            cudaMemcpyDeviceToDevice, stream_),
            "the moments of rows");
  }

  void gradient() {
    derive<<<rows_by_classes(kThreads), kThreads, 0, stream_>>>(task_);
    check(cudaGetLastError(), "the derivatives of scores");
    if (s_.dense != nullptr)
      product({SELFNORM_F32, SELFNORM_F32, false, true, s_.classes, s_.columns, s_.count, layout_.stride, s_.columns, s_.classes,
               kProductWorkspace},
              task_.sheet, s_.dense + s_.first * s_.columns, s_.gradient, s_.is_added != 0);
    else
      sparse_gradient<<<dim3(static_cast<unsigned>(s_.columns), tiles_of(s_.classes, 32 * kPerLane)), kThreads, 0, stream_>>>(task_);
    check(cudaGetLastError(), "the gradient of sparse rows");
    sum_columns(sheet(), SELFNORM_F32, scalars(), place<float>(layout_.slabs), s_.gradient + s_.columns * s_.classes,
                s_.is_added != 0, stream_);
  }

 private:
  template <class T>
  T* place(uint64_t at) const {
    return reinterpret_cast<T*>(static_cast<char*>(s_.workspace) + at);
  }
  StepScalars* scalars() const { return place<StepScalars>(0); }
  dim3 rows_by_classes(int64_t each) const { return {static_cast<unsigned>(s_.count), tiles_of(s_.classes, each)}; }
  RowTask sheet() const {
    RowTask t = {};
    t.sheet = task_.sheet;
    t.stride = layout_.stride;
    t.rows = s_.count;
    t.classes = static_cast<int32_t>(s_.classes);
    return t;
  }
  void product(const Product& shape, const void* a, const void* b, void* d, bool is_added) {
    context_.run(shape, {a, b, d, &scalars()->one, is_added ? &scalars()->one : &scalars()->zero, place<void>(layout_.products)},
                 stream_);
  }

  selfnorm_cuda_context& context_;
  const selfnorm_linear_step& s_;
  LinearLayout layout_;
  cudaStream_t stream_;
  LinearTask task_;
};

struct AdaptiveTask {
  selfnorm_adaptive_step s;
  float rate, mean_correction, square_correction;
};

// A row of the gradient and a tile of columns.
__global__ void __launch_bounds__(kThreads) adaptive(const __grid_constant__ AdaptiveTask t) {
  constexpr float kMeanDecay = 0.9f, kSquareDecay = 0.999f, kEpsilon = 1e-8f;
  const int64_t r = blockIdx.x, k = blockIdx.y * int64_t{kThreads} + threadIdx.x;
  if (k >= t.s.columns) return;
  const bool is_bias_row = t.s.bias_row >= 0 && r + 1 == t.s.rows, is_bias = is_bias_row || k == t.s.bias_column;
  const int64_t row = is_bias_row ? t.s.bias_row : t.s.feature != nullptr ? t.s.feature[r] : r;
  const int64_t at = row * t.s.columns + k;
  const float often = is_bias || t.s.often == nullptr ? 1 : t.s.often[row];
  const float l1 = is_bias ? 0 : static_cast<float>(t.s.l1) / often, l2 = is_bias ? 0 : static_cast<float>(t.s.l2) / often;
  float x = t.s.theta[at], square = t.s.square[at];
  const float g = fmaf(l2, x, t.s.gradient[r * t.s.columns + k]);
  float move = g;
  if (t.s.is_adam != 0) {
    const float mean = kMeanDecay * t.s.mean[at] + (1 - kMeanDecay) * g;
    t.s.mean[at] = mean;
    square = kSquareDecay * square + (1 - kSquareDecay) * g * g;
    move = mean * t.mean_correction;
  } else {
    square += g * g;
  }
  const float rate = t.rate / (sqrtf(square * t.square_correction) + kEpsilon);
  x -= rate * move;
  if (l1 > 0) x = copysignf(fmaxf(0, fabsf(x) - rate * l1), x);
  t.s.square[at] = square;
  t.s.theta[at] = x;
}

__global__ void __launch_bounds__(kThreads) square_parts(const float* x, uint64_t count, double* parts) {
  __shared__ double shared[kThreads];
  double sum = 0;
  for (uint64_t i = blockIdx.x * uint64_t{kThreads} + threadIdx.x; i < count; i += uint64_t{kNormBlocks} * kThreads)
    sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  sum = block_reduced(sum, shared, [](double a, double b) { return a + b; });
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}
__global__ void __launch_bounds__(kNormBlocks) square_sum(const double* parts, double* out) {
  __shared__ double shared[kNormBlocks];
  const double sum = block_reduced(parts[threadIdx.x], shared, [](double a, double b) { return a + b; });
  if (threadIdx.x == 0) *out = sum;
}

}  // namespace
}  // namespace selfnorm::gpu

using namespace selfnorm::gpu;

extern "C" {

uint64_t selfnorm_linear_workspace(const selfnorm_linear_step* step) { return LinearLayout(*step).bytes; }

int selfnorm_linear_scores(selfnorm_cuda_context* context, const selfnorm_linear_step* step) {
  return guarded(context, [&] { LinearStep(*context, *step).scores(); });
}
int selfnorm_linear_gradient(selfnorm_cuda_context* context, const selfnorm_linear_step* step) {
  return guarded(context, [&] {
    if (step->gradient == nullptr || step->by_score == nullptr || step->by_log_z == nullptr)
      throw Failure("a gradient of a log-linear model needs derivatives by scores and a place");
    LinearStep(*context, *step).gradient();
  });
}

int selfnorm_adaptive_run(selfnorm_cuda_context* context, const selfnorm_adaptive_step* step) {
  return guarded(context, [&] {
    const selfnorm_adaptive_step& s = *step;
    if (s.size != sizeof(s)) throw Failure("a step of an optimiser: the caller was built for another version of the module");
    const auto stream = static_cast<cudaStream_t>(s.stream);
    if (s.norm != nullptr) {
      square_parts<<<kNormBlocks, kThreads, 0, stream>>>(s.gradient, static_cast<uint64_t>(s.rows * s.columns), s.norm + 1);
      square_sum<<<1, kNormBlocks, 0, stream>>>(s.norm + 1, s.norm);
      check(cudaGetLastError(), "the norm of a gradient");
    }
    if (s.theta == nullptr) return;
    const auto correction = [&](double decay) {
      return s.is_adam != 0 ? static_cast<float>(1 / (1 - std::pow(decay, static_cast<double>(s.step)))) : 1;
    };
    adaptive<<<dim3(static_cast<unsigned>(s.rows), tiles_of(s.columns, kThreads)), kThreads, 0, stream>>>(
        {s, static_cast<float>(s.rate), correction(0.9), correction(0.999)});
    check(cudaGetLastError(), "a step of an optimiser");
  });
}

}  // extern "C"
