// Sampling-importance-resampling: a pool of draws of q, of which n are kept with probabilities proportional
// to their weights w = exp(s - log q); for pool / n -> infinity they are draws of exp(s) / Z.
#pragma once

#include <span>
#include <vector>

#include "math/random.h"
#include "model/energy/energy.h"
#include "proposal/density/density.h"

namespace selfnorm {

// n indices of [0, weights), index i floor or ceil(n share_i) times, ascending: systematic resampling with
// one uniform number. Throws Error when all weights are 0.
std::vector<uint64_t> systematic_resampling(std::span<const double> log_weight, uint64_t n,
                                            RandomStream random);

struct Resampled {
  std::vector<float> rows;  // n x d, in random order
  double pool_effective = 0;
  uint64_t pool = 0;
  double pool_tail = 0;  // shape of the tail of the weights (ParetoTail)
};

// Memory is n rows and the weights of the pool. Throws Error when n or pool is 0, and as importance_log_z
// does.
Resampled resample(const Energy& energy, const Density& proposal, uint64_t n, uint64_t pool, uint64_t seed);

// The same with weights w^beta, beta the first of 1, 1/2, 1/4, ..., 2^-20, 0 at which the pool is worth 2 n
// draws: starting points of chains, which are spread out where the proposal is far from the model.
// `pool_effective` and `pool_tail` are those of beta = 1.
Resampled resample_spread(const Energy& energy, const Density& proposal, uint64_t n, uint64_t pool,
                          uint64_t seed);

}  // namespace selfnorm
