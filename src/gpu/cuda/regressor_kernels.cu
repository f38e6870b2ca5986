#include "gpu/cuda/regressor_kernels.cuh"

#include <algorithm>

#include "gpu/cuda/context.cuh"
#include "gpu/cuda/points.cuh"
#include "gpu/cuda/reduce.cuh"

namespace selfnorm::gpu {
namespace {

constexpr int kMostPoints = 20;
constexpr int kMoveThreads = 256, kWarps = kPassThreads / 32;
constexpr int kAtOnce = 4;  // sums of a warp

__device__ double warp_add(double x) {
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) x += __shfl_xor_sync(~0u, x, mask);
  return x;
}
__device__ double warp_max(double x) {
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) x = fmax(x, __shfl_xor_sync(~0u, x, mask));
  return x;
}

// finish(o, sum_i w[o * in + i] a[i]) for o < out, by a warp each.
template <class Finish>
__device__ void row_product(const float* w, int in, int out, const float* a, const Finish& finish) {
  const int lane = threadIdx.x % 32;
  for (int first = threadIdx.x / 32 * kAtOnce; first < out; first += kWarps * kAtOnce) {
    float sum[kAtOnce] = {};
    for (int i = lane; i < in; i += 32) {
      const float x = a[i];
#pragma unroll
      for (int q = 0; q < kAtOnce; ++q) sum[q] = fmaf(w[min(first + q, out - 1) * in + i], x, sum[q]);
    }
    float own = 0;
#pragma unroll
    for (int q = 0; q < kAtOnce; ++q) {
      const float all = warp_sum(sum[q]);
      if (lane == q) own = all;
    }
    if (lane < kAtOnce && first + lane < out) finish(first + lane, own);
  }
}

// A block's own row: what it reads and keeps.
struct RowPass {
  const RegressorTask& t;
  double* doubles;
  float* floats;
  float* partial;       // the block's gradient
  const uint32_t* own;  // levels
  bool is_added;        // to it

  __device__ double* of(int place) const { return doubles + place; }
  __device__ float* at(int place) const { return floats + place; }
  __device__ void put(int place, float value) const { partial[place] = is_added ? partial[place] + value : value; }

  // a_1 .. a_L of a network of rows, from what is in `below`.
  __device__ void forward(const RegressorNetwork& net, const float* below) const {
    for (int l = net.first; l < net.last; ++l) {
      const RegressorLayer& layer = t.layout.layer[l];
      const bool is_embedded = l == net.first && net.embeddings >= 0;
      row_product(t.to.theta + layer.weight, layer.in, layer.out, below, [&](int o, float z) {
        z += t.to.theta[layer.bias + o];
        for (int c = 0; is_embedded && c < t.plan.categorical; ++c) z += t.to.theta[net.embeddings + int64_t{own[c]} * layer.out + o];
        Activated<float> y = {z, 1};
        if (layer.is_activated != 0) y = activated(t.plan.activation, z);
        at(t.at.value[l])[o] = y.value, at(t.at.by[l])[o] = y.slope;
      });
      __syncthreads();
      below = at(t.at.value[l]);
    }
  }

  // From the derivatives by z_L in the place of the last layer: its gradient, and finish(i, derivative by the input's).
  template <class Finish>
  __device__ void backward(const RegressorNetwork& net, const float* input, bool goes_below, const Finish& finish) const {
    for (int l = net.last - 1; l >= net.first; --l) {
      const RegressorLayer& layer = t.layout.layer[l];
      const float* const a = l == net.first ? input : at(t.at.value[l - 1]);
      const float* const by = at(t.at.by[l]);
      for (int o = threadIdx.x; o < layer.out; o += kPassThreads) put(layer.bias + o, by[o]);
      for (int j = threadIdx.x; j < layer.in * layer.out; j += kPassThreads) put(layer.weight + j, by[j / layer.in] * a[j % layer.in]);
      if (l == net.first && net.embeddings >= 0)
        for (int j = threadIdx.x; j < t.plan.categorical * layer.out; j += kPassThreads)
          partial[net.embeddings + int64_t{own[j / layer.out]} * layer.out + j % layer.out] += by[j % layer.out];
      if (l > net.first)
        row_product(t.to.turned + layer.weight, layer.out, layer.in, by, [&](int i, float sum) { at(t.at.by[l - 1])[i] *= sum; });
      else if (goes_below)
        row_product(t.to.turned + layer.weight, layer.out, layer.in, by, finish);
      __syncthreads();
    }
  }
  // dh of a network whose output is activated.
  __device__ void backward_features(const RegressorNetwork& net, const float* dh) const {
    if (net.first == net.last) return;
    const int width = t.layout.layer[net.last - 1].out;
    float* const by = at(t.at.by[net.last - 1]);
    for (int o = threadIdx.x; o < width; o += kPassThreads) by[o] *= dh[o];
    __syncthreads();
    backward(net, at(t.at.numbers), false, [](int, float) {});
  }
  __device__ const float* output(const RegressorNetwork& net) const {
    return net.first == net.last ? at(t.at.numbers) : at(t.at.value[net.last - 1]);
  }
};

// The mixture of a row from its parameters: log pi_k less the heights of the normals, means and scales.
__device__ void prepare_mixture(const RowPass& m) {
  const selfnorm_regressor_plan& p = m.t.plan;
  const RegressorPlaces& at = m.t.at;
  const int count = p.components, cells = count * p.targets;
  const float* const given = m.output(m.t.layout.mixture);
  for (int kj = threadIdx.x; kj < cells; kj += kPassThreads) {
    const MixtureScale s = mixture_scale(p, given[count + cells + kj]);
    m.of(at.mean)[kj] = given[count + kj], m.of(at.scale)[kj] = s.value, m.of(at.slope)[kj] = s.slope;
  }
  __syncthreads();
  if (threadIdx.x >= 32) return;
  double top = -INFINITY, sum = 0;
  for (int k = threadIdx.x; k < count; k += 32) top = fmax(top, static_cast<double>(given[k]));
  top = warp_max(top);
  for (int k = threadIdx.x; k < count; k += 32) sum += exp(given[k] - top);
  sum = warp_add(sum);
  const double log_sum = log(sum);
  for (int k = threadIdx.x; k < count; k += 32) {
    double constant = given[k] - top - log_sum;
    for (int j = 0; j < p.targets; ++j) constant += log_normal(0, 0, m.of(at.scale)[k * p.targets + j]);
    m.of(at.constant)[k] = constant;
    m.of(at.share)[k] = exp(given[k] - top) / sum;
  }
}

// y of the target and of the draws.
__device__ void make_points(const RowPass& m, int64_t place, int points) {
  const selfnorm_regressor_plan& p = m.t.plan;
  const RegressorPlaces& at = m.t.at;
  float* const y = m.at(at.targets);
  const int d = p.targets;
  for (int i = threadIdx.x; i < points; i += kPassThreads) {
    if (i == 0) {
      for (int j = 0; j < d; ++j) y[j] = m.t.to.targets[place * d + j];
      continue;
    }
    const int64_t draw = place * p.samples + i - 1;
    double u = m.t.to.choice[draw];
    const bool is_broad = u < 0;
    int chosen = 0;
    for (int k = 0; !is_broad && k < p.components; ++k) {
      if (m.of(at.share)[k] > 0) chosen = k;
      u -= m.of(at.share)[k];
      if (u < 0) break;
    }
    for (int j = 0; j < d; ++j) {
      const double mean = is_broad ? p.broad_mean : m.of(at.mean)[chosen * d + j];
      const double scale = is_broad ? p.broad_scale : m.of(at.scale)[chosen * d + j];
      y[i * d + j] = static_cast<float>(mean + scale * m.t.to.normal[draw * d + j]);
    }
  }
}

// Logs of the components and of what they are mixed to at each point, by a warp each.
__device__ void evaluate_mixture(const RowPass& m, int points) {
  const selfnorm_regressor_plan& p = m.t.plan;
  const RegressorPlaces& at = m.t.at;
  const int d = p.targets, lane = threadIdx.x % 32;
  for (int i = threadIdx.x / 32; i < points; i += kWarps) {
    const float* const y = m.at(at.targets) + i * d;
    double* const terms = m.of(at.terms) + i * p.components;
    double top = -INFINITY, sum = 0;
    for (int k = lane; k < p.components; k += 32) {
      double term = m.of(at.constant)[k];
      for (int j = 0; j < d; ++j) {
        const double tau = (y[j] - m.of(at.mean)[k * d + j]) / m.of(at.scale)[k * d + j];
        term -= 0.5 * tau * tau;
      }
      terms[k] = term;
      top = fmax(top, term);
    }
    top = warp_max(top);
    for (int k = lane; k < p.components; k += 32) sum += exp(terms[k] - top);
    sum = warp_add(sum);
    if (lane > 1) continue;
    const double log_q = top + log(sum);
    double log_g = 0;
    for (int j = 0; j < d; ++j) log_g += log_normal(y[j], p.broad_mean, p.broad_scale);
    if (lane == 0) {
      m.of(at.tail)[i] = broadened_by(p.tail_weight, log_q, log_g);
      m.of(at.base)[i] = p.has_base != 0 ? m.of(at.tail)[i] : log_g;
    } else {
      m.of(at.defended)[i] = broadened_by(p.defence, log_q, log_g);
    }
  }
}

// a_l and f'(z_l) of the tilt at the points of a tile.
template <int R>
__device__ void tilt_forward(const RowPass& m, int first, int points) {
  const RegressorTask& t = m.t;
  const RegressorNetwork& net = t.layout.tilt;
  const RegressorLayer& start = t.layout.layer[net.first];
  const float* const context = m.output(t.layout.context);
  for (int i = threadIdx.x; i < start.out * R; i += kPassThreads) {
    const int o = i / R, r = min(first + i % R, points - 1);
    float z = t.to.theta[start.bias + o] + context[o];
    for (int j = 0; j < start.in; ++j) z = fmaf(t.to.theta[start.weight + o * start.in + j], m.at(t.at.targets)[r * start.in + j], z);
    const Activated<float> y = activated(t.plan.activation, z);
    m.at(t.at.value[net.first])[i] = y.value, m.at(t.at.by[net.first])[i] = y.slope;
  }
  __syncthreads();
  for (int l = net.first + 1; l < net.last; ++l) {
    const RegressorLayer& layer = t.layout.layer[l];
    product<R>(t.to.turned + layer.weight, layer.out, layer.in, layer.out, m.at(t.at.value[l - 1]),
               reinterpret_cast<float4*>(m.at(t.at.room)), [&](int o, int q, float4 z) {
                 const float bias = t.to.theta[layer.bias + o];
                 float4 value, slope;
                 const auto one = [&](float x, float& y, float& dy) {
                   const Activated<float> made = activated(t.plan.activation, x + bias);
                   y = made.value, dy = made.slope;
                 };
                 one(z.x, value.x, slope.x), one(z.y, value.y, slope.y), one(z.z, value.z, slope.z), one(z.w, value.w, slope.w);
                 reinterpret_cast<float4*>(m.at(t.at.value[l]) + o * R)[q] = value;
                 reinterpret_cast<float4*>(m.at(t.at.by[l]) + o * R)[q] = slope;
               });
  }
}

// Scores of the points of a tile: f, and the log of the base.
template <int R>
__device__ void tilt_scores(const RowPass& m, int first, int points) {
  const RegressorTask& t = m.t;
  const RegressorNetwork& net = t.layout.tilt;
  const float* const top = m.at(t.at.value[net.last - 1]);
  for (int r = threadIdx.x / 32; r < R && first + r < points; r += kWarps) {
    float sum = 0;
    for (int o = threadIdx.x % 32; o < t.layout.layer[net.last - 1].out; o += 32) sum = fmaf(t.to.theta[t.layout.output + o], top[o * R + r], sum);
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) m.of(t.at.score)[first + r] = sum + m.of(t.at.base)[first + r];
  }
}

// Back from the derivatives by the scores of a tile; those by the context are added up in the place of its head.
template <int R>
__device__ void tilt_backward(const RowPass& own, int first, int points) {
  RowPass m = own;
  m.is_added = m.is_added || first > 0;
  const RegressorTask& t = m.t;
  const RegressorNetwork& net = t.layout.tilt;
  float* const by_score = m.at(t.at.by_score);
  if (threadIdx.x < R) by_score[threadIdx.x] = first + threadIdx.x < points ? static_cast<float>(m.of(t.at.score)[first + threadIdx.x]) : 0;
  __syncthreads();
  const Quad<R> d = Quad<R>::load(by_score);
  const RegressorLayer& last = t.layout.layer[net.last - 1];
  for (int o = threadIdx.x; o < last.out; o += kPassThreads) {
    const float w = t.to.theta[t.layout.output + o];
    m.put(t.layout.output + o, d.dot(Quad<R>::load(m.at(t.at.value[net.last - 1]) + o * R)));
    float* const by = m.at(t.at.by[net.last - 1]) + o * R;
#pragma unroll
    for (int r = 0; r < R; ++r) by[r] *= w * d.x[r];
  }
  __syncthreads();
  float* const by_context = m.at(t.at.by[t.layout.context.last - 1]);
  for (int l = net.last - 1; l >= net.first; --l) {
    const RegressorLayer& layer = t.layout.layer[l];
    const float* const local = m.at(t.at.by[l]);
    for (int o = threadIdx.x; o < layer.out; o += kPassThreads) {
      float sum = 0;
#pragma unroll
      for (int r = 0; r < R; ++r) sum += local[o * R + r];
      m.put(layer.bias + o, sum);
      if (l == net.first) by_context[o] = first > 0 ? by_context[o] + sum : sum;
    }
    if (l == net.first) {
      for (int j = threadIdx.x; j < layer.in * layer.out; j += kPassThreads) {
        float sum = 0;
        for (int r = 0; r < R && first + r < points; ++r)
          sum = fmaf(local[j / layer.in * R + r], m.at(t.at.targets)[(first + r) * layer.in + j % layer.in], sum);
        m.put(layer.weight + j, sum);
      }
      break;
    }
    for (int begin = 0; begin < layer.in; begin += kPassThreads) {
      const int columns = min(kPassThreads, (layer.in - begin + 31) / 32 * 32), groups = kPassThreads / columns;
      const int i = begin + threadIdx.x % columns, group = threadIdx.x / columns;
      if (group >= groups || i >= layer.in) continue;
      const Quad<R> a = Quad<R>::load(m.at(t.at.value[l - 1]) + i * R);
#pragma unroll 2
      for (int o = layer.out * group / groups; o < layer.out * (group + 1) / groups; ++o)
        m.put(layer.weight + o * layer.in + i, a.dot(Quad<R>::load(local + o * R)));
    }
    product<R>(t.to.theta + layer.weight, layer.in, layer.out, layer.in, local, reinterpret_cast<float4*>(m.at(t.at.room)),
               [&](int i, int q, float4 sum) {
                 float4& by = reinterpret_cast<float4*>(m.at(t.at.by[l - 1]) + i * R)[q];
                 by.x *= sum.x, by.y *= sum.y, by.z *= sum.z, by.w *= sum.w;
               });
  }
  __syncthreads();
}

// The objective of a row, by its first warp: derivatives by the scores in their place, by log q_tail and log q_defence (of a
// proposal that is learned) beside them; the sums in lane 0. src/objective has the formulas.
__device__ RegressorSums compare(const RowPass& m, int points, double weight, double share, double b, double& d_b) {
  const selfnorm_regressor_plan& p = m.t.plan;
  const RegressorPlaces& at = m.t.at;
  const int lane = threadIdx.x;
  double *const score = m.of(at.score), *const by_tail = m.of(at.by_tail), *const by_defended = m.of(at.by_defended);
  const double *const log_q = m.of(at.defended), scale = weight * share, samples = p.samples, target = score[0] - log_q[0], s = score[0];
  double top = -INFINITY, sum = 0, squares = 0, loss = 0, wrong = 0;
  for (int i = 1 + lane; i < points; i += 32) top = fmax(top, score[i] - log_q[i]);
  top = warp_max(top);
  for (int i = 1 + lane; i < points; i += 32) {
    const double e = exp(score[i] - log_q[i] - top);
    by_defended[i] = e;
    sum += e, squares += e * e;
  }
  sum = warp_add(sum), squares = warp_add(squares);
  const double log_z = top + log(sum) - log(samples);
  RegressorSums out = {0, 0, 0, b};
  double d_target = -1;
  d_b = 0;
  if (p.objective == SELFNORM_SNL || p.objective == SELFNORM_IS) {
    const double r = p.objective == SELFNORM_SNL ? exp(log_z - b) : 1;
    for (int i = 1 + lane; i < points; i += 32) score[i] = r * by_defended[i] / sum;
    if (p.objective == SELFNORM_SNL) d_b = 1 - r;
    loss = p.objective == SELFNORM_SNL ? b - s + r - 1 : log_z - s;
    out.log_ratio = log_z - b;
    out.effective = sum * sum / squares;
  } else if (p.objective == SELFNORM_NCE) {
    const double level = b + log(samples);
    for (int i = lane; i < points; i += 32) {
      const double v = i == 0 ? level - target : score[i] - log_q[i] - level, e = exp(-fabs(v)), sigma = (v >= 0 ? 1 : e) / (1 + e);
      loss += (v > 0 ? v : 0) + log1p(e);
      wrong += i == 0 ? sigma : -sigma;
      if (i > 0) score[i] = sigma;
      else d_target = -sigma;
    }
    loss = warp_add(loss), d_b = warp_add(wrong);
  } else {
    const double most = fmax(top, target), all = exp(target - most) + exp(top - most) * sum;
    for (int i = 1 + lane; i < points; i += 32) score[i] = by_defended[i] * exp(top - most) / all;
    d_target = exp(target - most) / all - 1;
    loss = most + log(all) - target;
  }
  out.loss = weight * loss;
  __syncwarp();
  if (lane == 0) score[0] = d_target;
  __syncwarp();
  for (int i = lane; i < points; i += 32) {
    score[i] *= scale;
    by_tail[i] = (p.has_base != 0 ? score[i] : 0) - (i == 0 && p.learns_from_data != 0 ? scale : 0);
    by_defended[i] = i > 0 && p.learns_by_divergence != 0 ? -scale * by_defended[i] / sum : 0;
  }
  d_b *= scale;
  return out;
}

// Derivatives by the parameters of the mixture, in the place of its head; a warp a component.
__device__ void mixture_backward(const RowPass& m, int points) {
  const selfnorm_regressor_plan& p = m.t.plan;
  const RegressorPlaces& at = m.t.at;
  const int d = p.targets, count = p.components, lane = threadIdx.x % 32;
  const double log_tail = log1p(-p.tail_weight), log_defended = log1p(-p.defence);
  float* const by = m.at(at.by[m.t.layout.mixture.last - 1]);
  for (int k = threadIdx.x / 32; k < count; k += kWarps) {
    const auto share = [&](int i) {
      const double term = m.of(at.terms)[i * count + k];
      double sum = m.of(at.by_tail)[i] * exp(term + log_tail - m.of(at.tail)[i]);
      if (p.learns_by_divergence != 0 && m.of(at.by_defended)[i] != 0)
        sum += m.of(at.by_defended)[i] * exp(term + log_defended - m.of(at.defended)[i]);
      return sum;
    };
    double zeroth = 0;
    for (int i = lane; i < points; i += 32) {
      const double s = share(i);
      m.of(at.terms)[i * count + k] = s;
      zeroth += s;
    }
    zeroth = warp_add(zeroth);
    if (lane == 0) m.of(at.constant)[k] = zeroth;
    for (int j = 0; j < d; ++j) {
      const int kj = k * d + j;
      const double mean = m.of(at.mean)[kj], scale = m.of(at.scale)[kj];
      double moved = 0, widened = 0;
      for (int i = lane; i < points; i += 32) {
        const double tau = (m.at(at.targets)[i * d + j] - mean) / scale, part = m.of(at.terms)[i * count + k] * tau;
        moved += part, widened += part * tau;
      }
      moved = warp_add(moved), widened = warp_add(widened);
      if (lane != 0) continue;
      by[count + kj] = static_cast<float>(moved / scale);
      by[count + count * d + kj] = static_cast<float>((widened - zeroth) / scale * m.of(at.slope)[kj]);
    }
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    double total = 0;
    for (int k = lane; k < count; k += 32) total += m.of(at.constant)[k];
    total = warp_add(total);
    for (int k = lane; k < count; k += 32) by[k] = static_cast<float>(m.of(at.constant)[k] - m.of(at.share)[k] * total);
  }
  __syncthreads();
}

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
  const double rate = t.layout.normalizer.has(j) ? at.rate * t.plan.normalizer_rate : at.rate;
  adam_move(static_cast<float>(clipping * t.to.gradient[j]), static_cast<float>(rate), static_cast<float>(1 - at.rate * t.plan.decay),
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
