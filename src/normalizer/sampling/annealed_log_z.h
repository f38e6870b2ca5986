// log Z by annealed importance sampling (Neal 2001) along the path from a density q, restricted to the points
// S that the energy allows, to the energy, at 0 = beta_0 < ... < beta_K = 1, with HMC (real supports) or
// Gibbs (levels) transitions. q(S) is the share of its draws that are in S (possible_draws).
//   forward  x_0 ~ q / q(S); log w = log q(S) + sum_k (beta_{k+1} - beta_k) weight(x_k), x_k moved by a
//            transition at beta_k. E w = Z, so log mean w is below log Z on average.
//   reverse  the same way down from draws of the model. E w = 1/Z, so -log mean w is above it on average
//            (Grosse, Ghahramani & Adams 2015).
// [low, high] is [forward - its reach, reverse + its reach] (normalizer/sampling/importance_log_z.h), reaches
// with that of log q(S). `value` is Bennett's (1976) combination of both, the root c of sum_i sigma(w_i - c)
// = sum_j sigma(c + w'_j) over the log weights w forward and w' reverse, inside [low, high].
//
// A pilot run finds how to move and where on the path to stop (normalizer/sampling/annealing_schedule.h);
// none of its draws is used. The reverse run starts at the ends of the forward run, resampled by their
// weights and moved at beta = 1: draws of the model as far as the forward run finds its modes, so the upper
// end is as good as they are. HMC does not mix at poles of exp s: for a gamma of shape 1/2 the bracket held
// the truth in 6 of 40 runs, 0.04 nat off on average.
#pragma once

#include "model/energy/energy.h"
#include "normalizer/log_z_estimate.h"
#include "proposal/density/density.h"

namespace selfnorm {

struct AnnealedOptions {
  uint64_t chains = 256;         // in each direction; >= 2
  uint64_t temperatures = 1000;  // K; >= 2
  uint64_t pilot_chains = 64;    // >= 8
  uint64_t leapfrog = 4;         // most steps of a transition; 1..1024
  double acceptance = 0.8;       // that the pilot adapts the step to; in (0, 1)
  uint64_t settling = 32;        // transitions at beta = 1 before the reverse run

  void validate() const;
};

struct AnnealedLogZ {
  LogZEstimate estimate;  // effective: the smaller of both directions
  double forward = 0, forward_error = 0, forward_effective = 0;
  double reverse = 0, reverse_error = 0, reverse_effective = 0;
  double acceptance = 0;  // mean over the forward run; levels: the share of coordinates that changed
};

// Throws Error for counts, and as possible_draws does.
AnnealedLogZ annealed_log_z(const Energy& energy, const Density& start, const AnnealedOptions& options,
                            uint64_t seed);

}  // namespace selfnorm
