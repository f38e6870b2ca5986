// A row of a candidate objective (objective/candidate.h has what each is), once, for the kernels and for the
// test that works in their order. With u_j = s_j - log q_j of its k draws and u = s - log q of its target:
//     nce       softplus(-(u - l)) + sum_j softplus(u_j - l),  l = b + log k;   d_j = sigma(u_j - l)
//     is        log Z_hat - s;           d_j = exp(u_j - log k - log Z_hat)
//     snl       b - s + Z_hat/e^b - 1;   d_j = exp(u_j - log k - b)
//     ranking   log(e^u + sum_j e^{u_j}) - u;   d_j = e^{u_j} over that sum
// where Z_hat = e^s + (1/k) sum over draws that are not the target of e^{u_j}.
#pragma once

#include "gpu/module.h"
#include "gpu/row_formula.h"

namespace selfnorm::gpu {

SELFNORM_BOTH float softplus_of(float v) { return (v > 0 ? v : 0) + log1pf(expf(-fabsf(v))); }
SELFNORM_BOTH float sigmoid_of(float v) {
  const float e = expf(-fabsf(v));
  return (v >= 0 ? 1 : e) / (1 + e);
}

struct SampledRow {
  int objective;
  float b, log_draws;

  SELFNORM_BOTH bool makes_estimate() const { return objective == SELFNORM_IS || objective == SELFNORM_SNL; }
};

// Of draws: max, sum exp(u - max), sum exp(2 (u - max)); of nce: sum softplus(u - l), sum sigma(u - l).
struct SampledSums {
  float max, sum, square, loss, push;

  static SELFNORM_BOTH SampledSums none() { return {kLowest, 0, 0, 0, 0}; }
  SELFNORM_BOTH void merge(const SampledSums& other) {
    loss += other.loss;
    push += other.push;
    const float top = other.max > max ? other.max : max;
    const float mine = expf(max - top), its = expf(other.max - top);
    sum = mine * sum + its * other.sum;
    square = mine * mine * square + its * its * other.square;
    max = top;
  }
  SELFNORM_BOTH void add(const SampledRow& row, float u) {
    if (row.objective != SELFNORM_NCE) return merge({u, 1, 1, 0, 0});
    const float v = u - row.b - row.log_draws;
    loss += softplus_of(v);
    push += sigmoid_of(v);
  }
};

struct SampledTerms {
  float loss, d_score, d_b, log_z, effective;
  float level;   // what is subtracted from u_j in its derivative
  float factor;  // of all derivatives by scores: below 1 where they would push down too much
};

SELFNORM_BOTH SampledTerms sampled_terms(const SampledRow& row, const SampledSums& sums, float score,
                                         float log_q, float most_push) {
  SampledTerms out = {0, 0, 0, 0, 0, row.b + row.log_draws, 1};
  const float b = row.b, u = score - log_q;
  if (row.objective == SELFNORM_NCE) {
    const float wrong = sigmoid_of(out.level - u);
    out.loss = softplus_of(out.level - u) + sums.loss;
    out.d_score = -wrong;
    out.d_b = wrong - sums.push;
    return out;
  }
  const float all = sums.sum > 0 ? sums.max + logf(sums.sum) : -INFINITY;
  if (row.objective == SELFNORM_RANKING) {
    out.loss = softplus_of(all - u);
    out.level = u + out.loss;
    out.d_score = -sigmoid_of(all - u);
    return out;
  }
  const float mean = all - row.log_draws, above = softplus_of(mean - score);  // log Z_hat - s
  out.log_z = score + above;
  out.effective = sums.square > 0 ? sums.sum * sums.sum / sums.square : 0;
  float pushed;
  if (row.objective == SELFNORM_IS) {
    out.loss = above;
    out.d_score = -sigmoid_of(mean - score);
    out.level = out.log_z + row.log_draws;
    pushed = expf(mean - out.log_z);
  } else {
    const float ratio = expf(out.log_z - b);
    out.loss = b - score + ratio - 1;
    out.d_score = expf(score - b) - 1;
    out.d_b = 1 - ratio;
    pushed = expf(mean - b);
  }
  pushed += out.d_score > 0 ? out.d_score : 0;
  if (most_push > 0 && pushed > most_push) out.factor = most_push / pushed;
  return out;
}

// d_j, without the factor, of a draw that counts.
SELFNORM_BOTH float draw_derivative(const SampledRow& row, const SampledTerms& terms, float u) {
  return row.objective == SELFNORM_NCE ? sigmoid_of(u - terms.level) : expf(u - terms.level);
}

}  // namespace selfnorm::gpu
