// Where an annealed run stops on its path and how it moves there, found by a pilot run at the betas (k/K)^3:
// the size of the leapfrog steps, the standard deviation of every coordinate, and that of the weight, by
// which the betas are spaced evenly in thermodynamic length, int sd(weight) dbeta (a tenth of it linearly).
#pragma once

#include <vector>

#include "normalizer/sampling/annealed_log_z.h"
#include "sampler/gibbs.h"
#include "sampler/hmc.h"

namespace selfnorm {

class AnnealingSchedule {
 public:
  AnnealingSchedule(const AnnealedOptions& options, uint32_t dimension);

  // Takes chains that start at draws of q along the path.
  void fit(HmcChains& pilot);
  void fit(GibbsChains& pilot);

  std::vector<double> betas() const;  // 0 = beta_0 < ... < beta_K = 1
  // One transition, as the pilot found it best around beta; returns the acceptance.
  double move(HmcChains& chains, double beta) const;
  double move(GibbsChains& chains, double beta) const;

 private:
  double pilot_beta(uint64_t k) const;
  uint64_t nearest(double beta) const;

  AnnealedOptions options_;
  uint32_t dimension_;
  std::vector<double> deviation_, step_, scale_;  // at pilot beta k; scale_ K+1 x d
};

}  // namespace selfnorm
