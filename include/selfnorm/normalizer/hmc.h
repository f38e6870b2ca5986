// Hamiltonian Monte Carlo on log-densities l over R^d or a box (Neal 2011): momenta p ~ N(0, I), coordinates
// in units of their scales (a diagonal mass matrix scale^-2), leapfrog steps
//     p += step/2 scale dl/dx,   x += step scale p,   p += step/2 scale dl/dx,
// accepted with probability min(1, exp(H - H')), H = |p|^2 / 2 - l. Walls of the support reflect. All chains
// move together, one evaluation of the energy for all; chain i draws from stream i of the seed.
#pragma once

#include <span>
#include <vector>

#include "selfnorm/math/random.h"
#include "selfnorm/normalizer/annealing_path.h"
#include "selfnorm/normalizer/box_walls.h"

namespace selfnorm {

struct HmcOptions {
  uint64_t warmup = 500;    // transitions before the first draw; they adapt step and scales
  uint64_t leapfrog = 16;   // most steps of a trajectory, which has 1 .. leapfrog, at random; 1..1024
  double step = 0.1;        // the first, in units of the scales; > 0
  double acceptance = 0.8;  // that the step is adapted to; in (0, 1)
  uint64_t thin = 1;        // transitions from draw to draw; >= 1

  void validate() const;  // throws Error naming the option, the value and the range
};

// Draws of many chains.
struct ChainDraws {
  uint64_t chains = 0, draws = 0;  // draws of each
  uint32_t dimension = 0;
  std::vector<float> rows;  // draw t of every chain, then draw t + 1
  double acceptance = 0;    // mean over the transitions after warm-up
  double step = 0;          // after adaptation; 0 where there is none
  uint64_t evaluations = 0;

  Points points() const { return {rows.data(), chains * draws, dimension}; }
};

// Started at the rows of `start`, one chain each. Throws Error where a start has no density.
ChainDraws hmc(const Energy& energy, const Points& start, uint64_t draws, const HmcOptions& options,
               uint64_t seed);

// Chains anywhere on a path.
class HmcChains {
 public:
  HmcChains(const AnnealingPath& path, const Points& start, uint64_t seed);

  struct Move {
    double step;
    uint64_t leapfrog;              // most steps
    std::span<const double> scale;  // of every coordinate
  };
  // Leaves l_beta invariant; returns the mean acceptance probability.
  double transition(double beta, const Move& move);

  Points points() const { return {x_.data(), chains_, dimension_}; }
  const PathValues& values() const { return values_; }  // at points()
  uint64_t evaluations() const { return evaluations_; }

 private:
  void kick(double beta, const Move& move, size_t i);
  void drift(const Move& move, size_t i);

  const AnnealingPath& path_;
  BoxWalls walls_;
  uint64_t chains_;
  uint32_t dimension_;
  std::vector<float> x_, proposed_;
  PathValues values_, proposed_values_;
  std::vector<double> momentum_, hamiltonian_, acceptance_;
  std::vector<uint8_t> is_lost_;  // the trajectory left the finite numbers
  std::vector<RandomStream> random_;
  RandomStream lengths_;
  uint64_t evaluations_ = 0;
};

}  // namespace selfnorm
