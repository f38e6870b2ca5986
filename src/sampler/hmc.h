// Draws of exp(s) over R^d or a box by Hamiltonian Monte Carlo (HmcChains), with a step that
// dual averaging adapts and scales that are the standard deviations of the coordinates.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "data/points/points.h"
#include "math/random.h"
#include "model/energy/energy.h"
#include "sampler/annealing_path.h"
#include "sampler/chain_draws.h"

namespace selfnorm {

// The walls of a box, at which moving points are reflected: x <- 2 wall - x, and the velocity changes sign.
// Between two walls that is the path of a billiard ball, which keeps volume and can be reversed.
class BoxWalls {
 public:
  explicit BoxWalls(const Support& support) : support_(support) {}

  // `target` is where coordinate j would be without walls; returns where it is, and negates `velocity` if it
  // met an odd number of them. What is not finite is returned as it is.
  float reflect(uint32_t j, double target, double& velocity) const;

 private:
  Support support_;
};

// Means and standard deviations of coordinates over points that pass by (Welford), for units in which a
// sampler moves, and for where an integral looks.
class CoordinateScales {
 public:
  explicit CoordinateScales(uint32_t dimension) : mean_(dimension), square_(dimension) {}

  void add(const Points& x) {
    for (uint64_t i = 0; i < x.rows; ++i) {
      ++count_;
      for (uint32_t j = 0; j < x.columns; ++j) {
        const double value = static_cast<double>(x.row(i)[j]), change = value - mean_[j];
        mean_[j] += change / static_cast<double>(count_);
        square_[j] += change * (value - mean_[j]);
      }
    }
  }

  const std::vector<double>& means() const { return mean_; }
  // Never 0: at least 1e-6 of the largest, and 1 when all points are the same.
  std::vector<double> scales() const;

 private:
  uint64_t count_ = 0;
  std::vector<double> mean_, square_;
};

// The leapfrog step that has a wanted acceptance, by dual averaging (Hoffman & Gelman 2014, section 3.2):
//     log step_t = mu - sqrt(t) / gamma H_t,   H_t = (1 - 1/(t + t0)) H_{t-1} + (wanted - acceptance_t) / (t
//     + t0), log average_t = t^-kappa log step_t + (1 - t^-kappa) log average_{t-1},
// with gamma = 0.05, t0 = 10, kappa = 0.75, mu = log(10 first step).
class StepAdaptation {
 public:
  StepAdaptation(double first_step, double wanted_acceptance);

  void observe(double acceptance);
  double step() const { return step_; }  // while adapting
  double average() const;                // afterwards

 private:
  double mu_, wanted_, step_;
  double deviation_ = 0, log_average_ = 0;
  uint64_t t_ = 0;
};

// Hamiltonian Monte Carlo on log-densities l over R^d or a box (Neal 2011): momenta p ~ N(0, I), coordinates
// in units of their scales (a diagonal mass matrix scale^-2), leapfrog steps
//     p += step/2 scale dl/dx,   x += step scale p,   p += step/2 scale dl/dx,
// accepted with probability min(1, exp(H - H')), H = |p|^2 / 2 - l. Walls of the support reflect. All chains
// move together, one evaluation of the energy for all; chain i draws from stream i of the seed.

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
