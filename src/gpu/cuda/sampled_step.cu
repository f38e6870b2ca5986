// A minibatch of a candidate objective (gpu/module_classes.h). Draws that all rows share are a product each way; draws of
// their own are dot products and sums. Between them a block a row makes derivatives of the scores of its draws.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "gpu/cuda/context.cuh"
#include "gpu/cuda/head_rows.cuh"
#include "gpu/cuda/reduce.cuh"
#include "gpu/sampled_formula.h"

#include <cuda_bf16.h>

namespace selfnorm::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kPerLane = 2;              // columns of a lane in a sum over a list
constexpr int64_t kDrawUnit = 128;       // of the sheet's stride
constexpr unsigned long long kNoneWrong = ~0ull;

uint64_t aligned(uint64_t bytes) { return (bytes + 255) / 256 * 256; }
unsigned blocks_for(int64_t count, int64_t each) { return static_cast<unsigned>((count + each - 1) / each); }

// In front of the workspace.
struct SampledScalars {
  StepScalars step;
  unsigned long long wrong;  // the first wrong place: of a draw, or the number of draws and the row of a target
};

struct SampledLayout {
  uint64_t score, d_target, offset, slabs, gathered, gathered_gradient, gathered_bias, products, sheet, derivatives, bytes;
  int64_t stride, all_draws;

  explicit SampledLayout(const selfnorm_sampled_step& s) {
    const auto rows = static_cast<uint64_t>(s.rows), draws = static_cast<uint64_t>(s.draws), dim = static_cast<uint64_t>(s.dim);
    const uint64_t shared = s.is_shared != 0 ? draws : 0;
    stride = (s.draws + kDrawUnit - 1) / kDrawUnit * kDrawUnit;
    all_draws = s.is_shared != 0 ? s.draws : s.rows * s.draws;
    uint64_t at = aligned(sizeof(SampledScalars));
    const auto take = [&](uint64_t& place, uint64_t bytes) {
      place = at;
      at += aligned(bytes);
    };
    take(score, rows * 4);
    take(d_target, rows * 4);
    take(offset, shared * 4);
    take(slabs, shared * kBiasSlabs * 4);
    take(gathered, shared * dim * bytes_of(s.type));
    take(gathered_gradient, shared * dim * 4);
    take(gathered_bias, shared * 4);
    take(products, shared > 0 ? kProductWorkspace : 0);
    take(sheet, rows * static_cast<uint64_t>(stride) * 4);
    derivatives = sheet;
    if (s.type != SELFNORM_F32 && shared > 0) take(derivatives, rows * static_cast<uint64_t>(stride) * 2);
    bytes = at;
  }
};

struct SampledTask {
  selfnorm_sampled_step s;
  int64_t stride, all_draws;
  SampledScalars* scalars;
  float *score, *d_target, *offset, *sheet, *gathered_gradient, *gathered_bias;
  void *gathered, *derivatives;
};

__global__ void begin(SampledScalars* scalars) { *scalars = {{1, 0, 1, 1, -1, 0}, kNoneWrong}; }

// A class, or 0 for what is none, which is noted.
__device__ inline int64_t known(const SampledTask& t, uint32_t k, int64_t place) {
  if (k < t.s.classes) return k;
  atomicMin(&t.scalars->wrong, static_cast<unsigned long long>(place));  // not a sum: the least is the least
  return 0;
}
__device__ inline float offset_of(const SampledTask& t, int64_t k) {
  return (t.s.bias != nullptr ? t.s.bias[k] : 0) + (t.s.carrier != nullptr ? t.s.carrier[k] : 0);
}
template <class T>
__device__ inline const T* state_of(const SampledTask& t, int64_t row) {
  return static_cast<const T*>(t.s.states) + row * t.s.state_stride;
}
template <class T>
__device__ inline const T* weight_of(const SampledTask& t, int64_t k) {
  return static_cast<const T*>(t.s.weight) + k * t.s.weight_stride;
}

// The weights of the shared draws, tight.
template <class T>
__global__ void gather(const __grid_constant__ SampledTask t) {
  const int64_t j = blockIdx.x, k = known(t, t.s.draw[j], j);
  const T* const from = weight_of<T>(t, k);
  for (int64_t d = threadIdx.x; d < t.s.dim; d += blockDim.x) static_cast<T*>(t.gathered)[j * t.s.dim + d] = from[d];
  if (threadIdx.x == 0) t.offset[j] = offset_of(t, k);
}

// A warp a score: those of the targets, then (draws of their own) of the draws.
template <class T>
__global__ void __launch_bounds__(kThreads) own_scores(const __grid_constant__ SampledTask t, int64_t count) {
  const int64_t at = (blockIdx.x * int64_t{kThreads} + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  if (at >= count) return;
  const bool is_target = at < t.s.rows;
  const int64_t p = at - t.s.rows, row = is_target ? at : p / t.s.draws;
  const int64_t k = is_target ? known(t, t.s.target[at], t.all_draws + at) : known(t, t.s.draw[p], p);
  const T *const h = state_of<T>(t, row), *const w = weight_of<T>(t, k);
  float sum = 0;
  for (int64_t d = lane; d < t.s.dim; d += 32) sum = fmaf(static_cast<float>(h[d]), static_cast<float>(w[d]), sum);
  sum = warp_sum(sum) + offset_of(t, k);
  if (lane != 0) return;
  if (is_target) t.score[row] = sum;
  else t.sheet[row * t.stride + p % t.s.draws] = sum;
}

// Scores of a row's draws become derivatives of its loss.
template <class T>
__global__ void __launch_bounds__(kThreads) derive(const __grid_constant__ SampledTask t) {
  __shared__ SampledSums shared[kThreads];
  const int64_t i = blockIdx.x, own = t.s.is_shared != 0 ? 0 : i * t.s.draws;
  const float* const sheet = t.sheet + i * t.stride;
  T* const out = static_cast<T*>(t.derivatives) + i * t.stride;
  const int64_t count = t.s.draws - (t.s.leaves_own != 0 ? 1 : 0);
  const SampledRow row{t.s.objective, t.s.normalizer != nullptr ? t.s.normalizer[i] : 0, logf(static_cast<float>(count))};
  const uint32_t target = t.s.target[i];
  const bool finds_hits = row.makes_estimate();
  const auto counts = [&](int64_t j) {
    return (t.s.leaves_own == 0 || j != i) && (!finds_hits || t.s.draw[own + j] != target);
  };
  const auto raised = [&](int64_t j) {
    return sheet[j] + (t.s.is_shared != 0 ? t.offset[j] : 0) - t.s.draw_log_q[own + j];
  };
  SampledSums sums = SampledSums::none();
  for (int64_t j = threadIdx.x; j < t.s.draws; j += kThreads)
    if (counts(j)) sums.add(row, raised(j));
  sums = block_reduced(sums, shared, [](SampledSums a, const SampledSums& b) {
    a.merge(b);
    return a;
  });
  SampledTerms terms = {};
  if (count > 0) terms = sampled_terms(row, sums, t.score[i], t.s.target_log_q[i], t.s.most_push);
  const float factor = terms.factor * (t.s.factor != nullptr ? t.s.factor[i] : 1);
  for (int64_t j = threadIdx.x; j < t.s.draws; j += kThreads)
    out[j] = static_cast<T>(count > 0 && counts(j) ? factor * draw_derivative(row, terms, raised(j)) : 0);
  if (threadIdx.x != 0) return;
  t.d_target[i] = factor * terms.d_score;
  float* const to = t.s.terms + i * 4;
  to[0] = terms.loss, to[1] = terms.d_b, to[2] = terms.log_z, to[3] = terms.effective;
}

// d_states of a row: its target's part, and that of draws of its own (shared ones are there, by the product).
template <class T>
__global__ void __launch_bounds__(kThreads) states_back(const __grid_constant__ SampledTask t) {
  __shared__ float shared[kListWarps][32 * kPerLane];
  const int64_t i = blockIdx.x;
  const bool is_own = t.s.is_shared == 0;
  const T* const target = weight_of<T>(t, min(static_cast<int64_t>(t.s.target[i]), t.s.classes - 1));
  float* const out = t.s.d_states + i * t.s.dim;
  const int64_t mine = blockIdx.y * int64_t{32 * kPerLane} + threadIdx.x % 32;
  ListSum<kPerLane> sum;
  if (is_own)
    sum.over(0, static_cast<unsigned long long>(t.s.draws), [&](unsigned long long j, float(&own)[kPerLane]) {
      const float d = t.sheet[i * t.stride + static_cast<int64_t>(j)];
      const int64_t k = min(static_cast<int64_t>(t.s.draw[i * t.s.draws + static_cast<int64_t>(j)]), t.s.classes - 1);
      const T* const w = weight_of<T>(t, k);
#pragma unroll
      for (int c = 0; c < kPerLane; ++c)
        if (mine + 32 * c < t.s.dim) own[c] = fmaf(d, static_cast<float>(w[mine + 32 * c]), own[c]);
    });
  sum.finish(shared, [&](int c, float all) {
    const int64_t d = mine + 32 * c;
    if (d < t.s.dim) out[d] = (is_own ? all : out[d]) + t.d_target[i] * static_cast<float>(target[d]);
  });
}

// The gradient of a class: over its draws, and the rows whose target it is.
template <class T>
__global__ void __launch_bounds__(kThreads) used_rows(const __grid_constant__ SampledTask t) {
  __shared__ float shared[kListWarps][32 * kPerLane];
  const int64_t u = blockIdx.x;
  const uint32_t from = u > 0 ? t.s.used_end[u - 1] : 0, to = t.s.used_end[u];
  const bool is_shared = t.s.is_shared != 0;
  const int64_t mine = blockIdx.y * int64_t{32 * kPerLane} + threadIdx.x % 32;
  ListSum<kPerLane> sum;
  sum.over(from, to, [&](unsigned long long q, float(&own)[kPerLane]) {
    const int64_t p = t.s.used_place[q];
    const bool is_draw = p < t.all_draws;
    const bool is_gathered = is_draw && is_shared;
    const int64_t row = !is_draw ? p - t.all_draws : is_shared ? 0 : p / t.s.draws;
    const float d = is_gathered ? 1 : is_draw ? t.sheet[row * t.stride + p % t.s.draws] : t.d_target[row];
#pragma unroll
    for (int c = 0; c < kPerLane; ++c) {
      const int64_t at = mine + 32 * c;
      if (at >= t.s.dim) continue;
      own[c] += is_gathered ? t.gathered_gradient[p * t.s.dim + at] : d * static_cast<float>(state_of<T>(t, row)[at]);
    }
  });
  sum.finish(shared, [&](int c, float all) {
    if (mine + 32 * c < t.s.dim) t.s.d_used[u * t.s.dim + mine + 32 * c] = all;
  });
  if (t.s.d_used_bias == nullptr || threadIdx.x >= 32 || blockIdx.y > 0) return;
  float bias = 0;
  for (uint32_t q = from + threadIdx.x; q < to; q += 32) {
    const int64_t p = t.s.used_place[q];
    bias += p >= t.all_draws ? t.d_target[p - t.all_draws]
            : is_shared      ? t.gathered_bias[p]
                             : t.sheet[p / t.s.draws * t.stride + p % t.s.draws];
  }
  bias = warp_sum(bias);
  if (threadIdx.x == 0) t.s.d_used_bias[u] = bias;
}

void verify(const selfnorm_sampled_step& s) {
  const auto must = [](bool holds, const char* what) {
    if (!holds) throw Failure(std::string("a sampled step: ") + what);
  };
  must(s.size == sizeof(s), "the caller was built for another version of the module");
  must(s.rows > 0 && s.dim > 0 && s.classes > 0 && s.draws > 0, "found no rows, columns, classes or draws");
  must(s.type == SELFNORM_F32 || s.type == SELFNORM_BF16, "found another type of numbers; expected float32 or bfloat16");
  must(s.objective >= SELFNORM_SNL && s.objective <= SELFNORM_RANKING, "found an unknown objective");
  must(s.leaves_own == 0 || (s.is_shared != 0 && s.draws == s.rows), "draws are left out where they are the rows' targets");
  must(s.rows * (s.is_shared != 0 ? 1 : s.draws) + s.rows < (int64_t{1} << 32) && s.rows * s.draws < (int64_t{1} << 40),
       "found too many draws; use fewer, or fewer rows at once");
  must(s.used_count > 0, "found no lists of the classes used");
}

template <class T>
class SampledStep {
 public:
  SampledStep(selfnorm_cuda_context& context, const selfnorm_sampled_step& step)
      : context_(context), s_(step), layout_(step), stream_(static_cast<cudaStream_t>(step.stream)) {
    task_.s = step;
    task_.stride = layout_.stride;
    task_.all_draws = layout_.all_draws;
    task_.scalars = place<SampledScalars>(0);
    task_.score = place<float>(layout_.score);
    task_.d_target = place<float>(layout_.d_target);
    task_.offset = place<float>(layout_.offset);
    task_.sheet = place<float>(layout_.sheet);
    task_.gathered = place<void>(layout_.gathered);
    task_.gathered_gradient = place<float>(layout_.gathered_gradient);
    task_.gathered_bias = place<float>(layout_.gathered_bias);
    task_.derivatives = place<void>(layout_.derivatives);
  }

  void run() {
    begin<<<1, 1, 0, stream_>>>(task_.scalars);
    const bool is_shared = s_.is_shared != 0;
    const int64_t scores = s_.rows + (is_shared ? 0 : s_.rows * s_.draws);
    own_scores<T><<<blocks_for(scores * 32, kThreads), kThreads, 0, stream_>>>(task_, scores);
    if (is_shared) {
      gather<T><<<static_cast<unsigned>(s_.draws), 128, 0, stream_>>>(task_);
      product({s_.type, SELFNORM_F32, true, false, s_.draws, s_.rows, s_.dim, s_.dim, s_.state_stride, layout_.stride,
               kProductWorkspace},
              task_.gathered, s_.states, task_.sheet);
    }
    keep_status();
    if (is_shared) derive<T><<<static_cast<unsigned>(s_.rows), kThreads, 0, stream_>>>(task_);
    else derive<float><<<static_cast<unsigned>(s_.rows), kThreads, 0, stream_>>>(task_);
    check(cudaGetLastError(), "the scores of draws");
    if (is_shared) {
      if (s_.d_states != nullptr)
        product({s_.type, SELFNORM_F32, false, false, s_.dim, s_.rows, s_.draws, s_.dim, layout_.stride, s_.dim, kProductWorkspace},
                task_.gathered, task_.derivatives, s_.d_states);
      product({s_.type, SELFNORM_F32, false, true, s_.dim, s_.draws, s_.rows, s_.state_stride, layout_.stride, s_.dim,
               kProductWorkspace},
              s_.states, task_.derivatives, task_.gathered_gradient);
      RowTask columns = {};
      columns.sheet = task_.derivatives;
      columns.stride = layout_.stride;
      columns.rows = s_.rows;
      columns.classes = static_cast<int32_t>(s_.draws);
      sum_columns(columns, s_.type, &task_.scalars->step, place<float>(layout_.slabs), task_.gathered_bias, false, stream_);
    }
    const unsigned tiles = blocks_for(s_.dim, 32 * kPerLane);
    if (s_.d_states != nullptr) states_back<T><<<dim3(static_cast<unsigned>(s_.rows), tiles), kThreads, 0, stream_>>>(task_);
    used_rows<T><<<dim3(static_cast<unsigned>(s_.used_count), tiles), kThreads, 0, stream_>>>(task_);
    check(cudaGetLastError(), "the derivatives of draws");
  }

 private:
  template <class P>
  P* place(uint64_t at) const {
    return reinterpret_cast<P*>(static_cast<char*>(s_.workspace) + at);
  }
  void product(const Product& shape, const void* a, const void* b, void* d) {
    const StepScalars* const scalars = &task_.scalars->step;
    context_.run(shape, {a, b, d, &scalars->one, &scalars->zero, place<void>(layout_.products)}, stream_);
  }
  void keep_status() {
    cudaStreamCaptureStatus capture;
    check(cudaStreamIsCapturing(stream_, &capture), "the stream");
    if (capture != cudaStreamCaptureStatusNone) return;
    check(cudaMemcpyAsync(context_.status, &task_.scalars->wrong, sizeof(int64_t), cudaMemcpyDeviceToHost, stream_),
          "the check of the targets");
    check(cudaEventRecord(context_.checked, stream_), "the check of the targets");
  }

  selfnorm_cuda_context& context_;
  const selfnorm_sampled_step& s_;
  SampledLayout layout_;
  cudaStream_t stream_;
  SampledTask task_ = {};
};

// A warp a row.
__global__ void __launch_bounds__(kThreads)
    row_adagrad_at(float* x, float* square, double* decayed, const float* gradient, const uint32_t* index, int64_t rows,
                   int64_t columns, float rate, double log_decay) {
  const int64_t at = (blockIdx.x * int64_t{kThreads} + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  if (at >= rows) return;
  const int64_t row = index != nullptr ? index[at] : at;
  float keep = 1, own_rate = 0;
  if (decayed != nullptr) keep = static_cast<float>(exp(log_decay - decayed[row]));
  if (gradient != nullptr) {
    float sum = 0;
    for (int64_t j = lane; j < columns; j += 32) sum = fmaf(gradient[at * columns + j], gradient[at * columns + j], sum);
    const float total = square[row] + warp_sum(sum) / static_cast<float>(columns);
    own_rate = rate / sqrtf(total);
    __syncwarp();
    if (lane == 0) square[row] = total;
  }
  for (int64_t j = lane; j < columns; j += 32) {
    const float kept = keep * x[row * columns + j];
    x[row * columns + j] = gradient != nullptr ? kept - own_rate * gradient[at * columns + j] : kept;
  }
  __syncwarp();
  if (decayed != nullptr && lane == 0) decayed[row] = log_decay;
}

}  // namespace
}  // namespace selfnorm::gpu

using namespace selfnorm::gpu;

extern "C" {

uint64_t selfnorm_sampled_workspace(const selfnorm_sampled_step* step) { return SampledLayout(*step).bytes; }

int selfnorm_sampled_run(selfnorm_cuda_context* context, const selfnorm_sampled_step* step) {
  return guarded(context, [&] {
    verify(*step);
    const uint64_t needed = SampledLayout(*step).bytes;
    if (step->workspace_bytes < needed) {
      char text[160];
      std::snprintf(text, sizeof(text), "the workspace has %.1f MiB; this sampled step needs %.1f MiB (fewer rows or draws need less)",
                    static_cast<double>(step->workspace_bytes) / (1 << 20), static_cast<double>(needed) / (1 << 20));
      throw Failure(text);
    }
    if (step->type == SELFNORM_F32) SampledStep<float>(*context, *step).run();
    else SampledStep<__nv_bfloat16>(*context, *step).run();
  });
}

int selfnorm_sampled_status(selfnorm_cuda_context* context, const selfnorm_sampled_step* step) {
  return guarded(context, [&] {
    check(cudaEventSynchronize(context->checked), "the check of the targets");
    const auto wrong = static_cast<unsigned long long>(context->status[0]);
    if (wrong == kNoneWrong) return;
    const auto draws = static_cast<unsigned long long>(SampledLayout(*step).all_draws);
    throw Failure((wrong < draws ? "draw " + std::to_string(wrong) : "the target of row " + std::to_string(wrong - draws)) +
                  " (counted from 0) is no class; expected one in 0.." + std::to_string(step->classes - 1));
  });
}

int selfnorm_row_adagrad_at(selfnorm_cuda_context* context, float* x, float* square, double* decayed, const float* gradient,
                            const uint32_t* index, int64_t rows, int64_t columns, double rate, double log_decay, void* stream) {
  return guarded(context, [&] {
    row_adagrad_at<<<blocks_for(rows * 32, kThreads), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
        x, square, decayed, gradient, index, rows, columns, static_cast<float>(rate), log_decay);
    check(cudaGetLastError(), "a step of AdaGrad");
  });
}

}  // extern "C"
