// Gibbs sampling of levels, one coordinate after the other: x_j is drawn from
//     p(x_j = v | the rest) = exp(l(x with x_j = v)) / sum_v' exp(l(x with x_j = v')).
// All chains move together, one evaluation of the energy per coordinate; chain i draws from stream i of the
// seed.
#pragma once

#include <span>
#include <vector>

#include "math/random.h"
#include "sampler/annealing_path.h"
#include "sampler/chain_draws.h"

namespace selfnorm {

struct GibbsOptions {
  uint64_t warmup = 200;  // sweeps before the first draw
  uint64_t thin = 1;      // sweeps from draw to draw; >= 1

  void validate() const;
};

// Chains anywhere on a path of energies over levels.
class GibbsChains {
 public:
  GibbsChains(const AnnealingPath& path, const Points& start, uint64_t seed);

  // All coordinates once, in order. Leaves l_beta invariant; returns the share of coordinates that changed.
  double sweep(double beta);

  Points points() const { return {x_.data(), chains_, dimension_}; }
  const PathValues& values() const { return values_; }  // at points()
  uint64_t evaluations() const { return evaluations_; }

 private:
  uint64_t resample(double beta, uint32_t j);

  const AnnealingPath& path_;
  uint64_t chains_;
  uint32_t dimension_;
  std::vector<float> x_, others_;
  PathValues values_, other_values_;
  std::vector<RandomStream> random_;
  uint64_t evaluations_ = 0;
};

// Started at the rows of `start`, one chain each; `acceptance` is the share of coordinates that changed.
// Throws Error unless the support is levels and holds every start.
ChainDraws gibbs(const Energy& energy, const Points& start, uint64_t draws, const GibbsOptions& options,
                 uint64_t seed);

// Moves every row of `chains` in place, `sweeps` times through all coordinates (pcd on binary data), by
// blocks where the energy has them; returns the share of coordinates that changed in a sweep, or by blocks in
// all of them.
double gibbs_sweeps(const Energy& energy, uint64_t sweeps, uint64_t seed, std::span<float> chains);

}  // namespace selfnorm
