// Draws of many chains.
#pragma once

#include <cstdint>
#include <vector>

#include "selfnorm/data/points/points.h"

namespace selfnorm {

struct ChainDraws {
  uint64_t chains = 0, draws = 0;  // draws of each
  uint32_t dimension = 0;
  std::vector<float> rows;  // draw t of every chain, then draw t + 1
  double acceptance = 0;    // mean over the transitions after warm-up
  double step = 0;          // after adaptation; 0 where there is none
  uint64_t evaluations = 0;

  Points points() const { return {rows.data(), chains * draws, dimension}; }
};

}  // namespace selfnorm
