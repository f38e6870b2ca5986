// log Z by importance sampling from a density q:
//     Z_hat = (1/n) sum_i w_i,   log w_i = s(x_i) - log q(x_i),   x_i ~ q,   E Z_hat = Z.
// ESS = (sum w)^2 / sum w^2. The standard error of log Z_hat is that of Z_hat / Z (delta method),
//     error^2 = (n / ESS - 1) / (n - 1),
// and the 95% interval is log Z_hat -+ t error with t of Student's distribution with ESS - 1 degrees of
// freedom (at least 1), because an error estimated from few effective samples is itself uncertain.
// The upper end has the mass beyond the largest weight too: with a tail of shape k > 0
// (ParetoTail) the sum of n weights is expected to lack w_max / (1 - k), k taken as 0.9 at
// most,
//     high = log Z_hat + t error + log(1 + w_max / ((1 - k) sum w)).
// With fewer than about 10 effective samples it is still too narrow (Gaussians: it held the truth in 72 to 86
// of 100 runs); do not trust log Z_hat there.
#pragma once

#include <cstdint>
#include <vector>

#include "model/energy/energy.h"
#include "normalizer/log_z_estimate.h"
#include "proposal/density/density.h"
#include "sampler/annealing_path.h"
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

// Draws of a density q restricted to what an energy allows, S = {x : exp s(x) > 0}, by rejection, and the
// share q(S) of its draws that are inside, whose logarithm annealing needs: paths start at q / q(S) on S.
struct PossibleDraws {
  std::vector<float> rows;  // n x d, independent
  WeightSum share;          // of weights 1 inside S and 0 outside: log_mean() is log q(S), with its error
};

// Draws in blocks until n are inside and the standard error of log q(S) is at most 0.01, at most
// max(2^20, 4 n). Where all of the first block are inside, q(S) is 1 without error. Throws Error when fewer
// than n of all are inside, and as importance_log_z does for scores and supports.
PossibleDraws possible_draws(const Energy& energy, const Density& proposal, uint64_t n, uint64_t seed);

// Draws of a density q with their importance weights for an energy, a block at a time; a block can be drawn
// again, so that only weights have to be kept.
class WeightedDraws {
 public:
  WeightedDraws(const Energy& energy, const Density& proposal, uint64_t count, uint64_t seed);

  uint64_t count() const { return count_; }
  uint64_t block_rows() const { return block_rows_; }
  uint64_t blocks() const { return (count_ + block_rows_ - 1) / block_rows_; }

  // Draw i of the whole is draw i % block_rows() of block i / block_rows().
  struct Block {
    std::vector<float> rows;
    std::vector<double> log_q;       // empty where the weights need none
    std::vector<double> log_weight;  // -inf: impossible under the energy
  };
  void points(uint64_t block, Block& out) const;
  // Points and weights. Throws Error when a weight is NaN or +inf.
  void draw(uint64_t block, Block& out) const;

 private:
  AnnealingPath path_;
  const Density& proposal_;
  uint64_t count_, seed_, block_rows_;
};

// How heavy the tail of importance weights is: the shape k of a generalised Pareto distribution fitted to the
// largest min(n/5, 3 sqrt(n)) of n weights (Zhang & Stephens 2009; Vehtari et al. 2024). Weights with k > 1/2
// have no variance, so that an error estimated from them is too small, however many of them are effective
// (intervals of 95% held the truth in 70 to 90 of 100 runs for k = 0.6): a mode that the proposal hardly
// reaches shows in the tail long before it shows in the ESS.

constexpr double kHeaviestTail = 0.5;

class ParetoTail {
 public:
  explicit ParetoTail(uint64_t weights);  // how many will be added

  void add(double log_weight);
  // 0 for fewer than 5 different weights in the tail: there is none.
  double shape() const;

 private:
  uint64_t size_;
  std::vector<double> largest_;  // fewer than 2 size_ + 2, the size_ + 1 largest among them
};

// k of exceedances x > 0 in ascending order, at least 5, with the weakly informative prior of Vehtari et al.
double pareto_shape(const std::vector<double>& x);

}  // namespace selfnorm
