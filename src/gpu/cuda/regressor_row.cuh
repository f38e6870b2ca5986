// What a block does with a row of a regressor: the networks of x, the mixture and its draws, the tilt at the points of the
// row, the objective, and back.
#pragma once

#include "gpu/cuda/points.cuh"
#include "gpu/cuda/reduce.cuh"
#include "gpu/cuda/regressor_kernels.cuh"

namespace selfnorm::gpu {
namespace {

constexpr int kWarps = kPassThreads / 32, kAtOnce = 4;  // of a block; sums of a warp

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

}  // namespace
}  // namespace selfnorm::gpu
