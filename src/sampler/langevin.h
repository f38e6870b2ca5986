// Langevin dynamics on s over R^d or a box, whose walls reflect.
//   langevin  unadjusted: x <- x + step^2/2 ds/dx + step N(0, I); biased by its step, never stuck (cd, pcd)
//   mala      the same move accepted or refused so that exp(s) is invariant: HMC with one leapfrog step
// Chain i draws from stream i of the seed.
#pragma once

#include <functional>
#include <span>

#include "model/energy/energy.h"
#include "sampler/chain_draws.h"

namespace selfnorm {

struct LangevinOptions {
  uint64_t steps = 20;  // >= 1
  double step = 0.1;    // standard deviation of the noise; > 0

  void validate() const;
};

struct LangevinResult {
  double acceptance = 0;  // share of moves made: those to a point or gradient that is not finite are not
  uint64_t evaluations = 0;
};

// Moves every row of `chains` (row-major n x d) in place.
LangevinResult langevin(const Energy& energy, const LangevinOptions& options, uint64_t seed,
                        std::span<float> chains);

// The same on a score of which only the slope is known, ds/dx (n x d) of n points.
struct ScoreSlope {
  std::function<void(const Points& x, std::span<float> slope)> slope;
  Support support;
  uint32_t dimension = 1;
};
LangevinResult langevin(const ScoreSlope& score, const LangevinOptions& options, uint64_t seed,
                        std::span<float> chains);

struct MalaOptions {
  uint64_t warmup = 1000;     // transitions before the first draw; they adapt step and scales
  double step = 0.1;          // the first, in units of the scales; > 0
  double acceptance = 0.574;  // (Roberts & Rosenthal 1998)
  uint64_t thin = 10;         // transitions from draw to draw; >= 1
};
ChainDraws mala(const Energy& energy, const Points& start, uint64_t draws, const MalaOptions& options,
                uint64_t seed);

}  // namespace selfnorm
