// Draws of exp(s) over R^d or a box by Hamiltonian Monte Carlo (normalizer/hmc_chains.h), with a step that
// dual averaging adapts and scales that are the standard deviations of the coordinates.
#pragma once

#include "selfnorm/model/energy/energy.h"
#include "selfnorm/normalizer/chain_draws.h"

namespace selfnorm {

struct HmcOptions {
  uint64_t warmup = 500;    // transitions before the first draw; they adapt step and scales
  uint64_t leapfrog = 16;   // most steps of a trajectory, which has 1 .. leapfrog, at random; 1..1024
  double step = 0.1;        // the first, in units of the scales; > 0
  double acceptance = 0.8;  // that the step is adapted to; in (0, 1)
  uint64_t thin = 1;        // transitions from draw to draw; >= 1

  void validate() const;  // throws Error naming the option, the value and the range
};

// Started at the rows of `start`, one chain each. Throws Error where a start has no density.
ChainDraws hmc(const Energy& energy, const Points& start, uint64_t draws, const HmcOptions& options,
               uint64_t seed);

}  // namespace selfnorm
