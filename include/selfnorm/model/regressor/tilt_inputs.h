// What the tilt of a regressor sees of y: y alone, or (y, r) with
//     r_j = asinh((y_j - mean_j) / sd_j),
// mean and sd of the mixture at x as constants: where y is in the units of what is left of it at x, so that
// the tilt can shape densities much narrower than the marginal one. r grows like log |y|.
#pragma once

#include <span>
#include <vector>

#include "selfnorm/model/energy/conditional_energy.h"
#include "selfnorm/proposal/conditional/mixture.h"

namespace selfnorm {

class TiltInputs {
 public:
  // Of a block of inputs; which of the two it is, is told by tilt.dimension().
  void set(const ConditionalEnergy& tilt, const ConditionalMixture& mixture, const Points& parameters);
  // The inputs of y, y itself or in `memory`.
  Points of(const Points& y, std::span<const uint32_t> row, std::vector<float>& memory) const;

 private:
  std::vector<float> moments_;  // rows x 2 d: mean, 1 / sd; empty: y alone
};

}  // namespace selfnorm
