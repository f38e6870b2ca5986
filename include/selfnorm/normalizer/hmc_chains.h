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

// Chains anywhere on a path.
class HmcChains {
 public:
  HmcChains(const AnnealingPath& path, const Points& start, uint64_t seed);

  struct Move {
    double step;
    uint64_t leapfrog;              // most steps
    std::span<const double> scale;  // of every coordinate
  };
  // Leaves l_beta invariant; returns the mean acceptance probability. Chains where l_beta = -inf do not move.
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
