// log Z by importance sampling from a density q:
//     Z_hat = (1/n) sum_i w_i,   log w_i = s(x_i) - log q(x_i),   x_i ~ q,   E Z_hat = Z.
// ESS = (sum w)^2 / sum w^2. The standard error of log Z_hat is that of Z_hat / Z (delta method),
//     error^2 = (n / ESS - 1) / (n - 1),
// and the 95% interval is log Z_hat -+ t error with t of Student's distribution with ESS - 1 degrees of
// freedom (at least 1), because an error estimated from few effective samples is itself uncertain.
// The upper end has the mass beyond the largest weight too: with a tail of shape k > 0
// (normalizer/pareto_tail.h) the sum of n weights is expected to lack w_max / (1 - k), k taken as 0.9 at
// most,
//     high = log Z_hat + t error + log(1 + w_max / ((1 - k) sum w)).
// With fewer than about 10 effective samples it is still too narrow (Gaussians: it held the truth in 72 to 86
// of 100 runs); do not trust log Z_hat there.
#pragma once

#include "model/energy/energy.h"
#include "normalizer/log_z_estimate.h"
#include "proposal/density/density.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {

// Sums of n weights and of their squares, in log space.
struct WeightSum {
  LogSumExp first, second;  // of log w and 2 log w
  uint64_t count = 0;

  void add(double log_weight);

  double log_mean() const;   // log of the mean weight
  double effective() const;  // 0 when all weights are 0
  double error() const;      // standard error of log_mean
  double reach() const;      // half of the 95% interval of log_mean
};

// Draws in blocks that are not kept. Throws Error when samples < 2, when dimensions or supports do not fit,
// when every weight is 0 and when a score is NaN or +inf.
LogZEstimate importance_log_z(const Energy& energy, const Density& proposal, uint64_t samples, uint64_t seed);

}  // namespace selfnorm
