// The mathematics of a row of a head, once, for the kernels and for their host reference (head_reference.h).
//     z_k = scale (w_k . h + bias_k),   s_k = log h(k) + cap tanh(z_k / cap)      (cap 0: s_k = log h(k) +
//     z_k) A = log sum_k exp s_k,   p_k = exp(s_k - A) nll = A - (1 - eps) s_t - eps/K sum_k s_k,   penalty =
//     alpha (A - c)^2 d(nll + penalty)/ds_k = (1 + 2 alpha (A - c)) p_k - (1 - eps) [k = t] - eps/K ds_k/dz_k
//     = 1 - tanh^2(z_k / cap)
// Theory.md 1 and 3. Classes may be cut into shards: the sums of the shards' terms are those of the whole.
#pragma once

#include <math.h>
#include <stdint.h>

#ifdef __CUDACC__
#define SELFNORM_BOTH __host__ __device__ inline
#else
#define SELFNORM_BOTH inline
#endif

namespace selfnorm::gpu {

inline constexpr float kLowest = -1e30f;  // a max of nothing; finite, so that differences are numbers

// s_k of z_k, and ds_k / d(w_k . h).
SELFNORM_BOTH float capped(float z, float cap) { return cap > 0 ? cap * tanhf(z / cap) : z; }
SELFNORM_BOTH float slope(float z, float scale, float cap) {
  if (!(cap > 0)) return scale;
  const float t = tanhf(z / cap);
  return scale * (1 - t) * (1 + t);
}

// Sums over a part of a row's scores, in one reading.
struct RowSums {
  float max;
  float sum;       // of exp(s - max)
  float shifted;   // of exp(s - max) (s - max)
  float plain;     // of s
  int32_t best;    // the first class with s = max
  int32_t better;  // scores above a given one

  static SELFNORM_BOTH RowSums none() { return {kLowest, 0, 0, 0, -1, 0}; }

  // Takes the sums of other classes; of equal best ones the class that comes first.
  SELFNORM_BOTH void merge(const RowSums& other) {
    const bool is_first =
        other.max > max || (other.max == max && other.best >= 0 && (best < 0 || other.best < best));
    const float top = other.max > max ? other.max : max;
    const float mine = expf(max - top), its = expf(other.max - top);
    shifted = mine * (shifted + (sum == 0 ? 0 : sum * (max - top))) +
              its * (other.shifted + (other.sum == 0 ? 0 : other.sum * (other.max - top)));
    sum = mine * sum + its * other.sum;
    plain += other.plain;
    better += other.better;
    if (is_first) best = other.best;
    max = top;
  }
};

struct LossOptions {
  float smoothing, alpha, center;
  float all_classes;  // K over all shards
};

// The terms of one row: likelihood and penalty, and the derivative by s_k as
//     partition p_k - even - [k = target] picked.
struct RowLoss {
  float nll = 0, penalty = 0;
  float partition = 0, even = 0, picked = 0;
};

// A in two parts, so that A - s_t keeps its digits where all scores have a large offset.
struct LogZ {
  float top, rest;  // A = top + rest

  SELFNORM_BOTH float value() const { return top + rest; }
};

// Which of a row's terms belong to these classes. Over all shards `first` and, unless ignored, `target` are
// true once.
struct ShardPart {
  bool target, first;
};

SELFNORM_BOTH RowLoss row_loss(const LossOptions& o, LogZ log_z, float target_score, float plain,
                               ShardPart part) {
  RowLoss out;
  const float excess = log_z.value() - o.center;
  if (part.target) {
    out.picked = 1 - o.smoothing;
    out.nll = out.picked * ((log_z.top - target_score) + log_z.rest);
  }
  if (o.smoothing > 0) {
    out.even = o.smoothing / o.all_classes;
    out.nll += (part.first ? o.smoothing * log_z.value() : 0) - out.even * plain;
  }
  out.partition = 1;
  if (o.alpha != 0) {
    out.partition += 2 * o.alpha * excess;
    if (part.first) out.penalty = o.alpha * excess * excess;
  }
  return out;
}

}  // namespace selfnorm::gpu
