// Draws from the density at the nodes of a quadrature of two or three dimensions (analysis/predictive.h).
#pragma once

#include <span>
#include <vector>

#include "math/random.h"
#include "normalizer/quadrature/conditional_quadrature.h"

namespace selfnorm {

class CellSampler {
 public:
  // The nodes have to outlive it.
  CellSampler(const PredictiveNodes& nodes, uint32_t dimension);
  // One draw, in the units of the nodes.
  void draw(RandomStream& random, std::span<double> y);

 private:
  const PredictiveNodes& nodes_;
  uint32_t dimension_;
  std::vector<double> cumulative_;  // masses of the cells
  std::vector<double> density_, slice_, lagrange_;
};

}  // namespace selfnorm
