// The first region and cells of a conditional quadrature, from the places where mass may be.
#pragma once

#include <array>
#include <vector>

#include "model/regressor/conditional_scores.h"

namespace selfnorm {

// A product of d <= 3 segments; those of a support may be infinite.
struct ConditionalBox {
  std::array<double, 3> lower{}, upper{};

  double width(uint32_t j) const { return upper[j] - lower[j]; }
};

struct ConditionalStart {
  ConditionalBox region;
  std::vector<ConditionalBox> cells;  // disjoint, they fill the region; one dimension: ascending
  // Mass of the places outside their cores, and of those left out: under their weights, which for a tilted
  // density are not those of its own mass. A doubt that every error has, no bound.
  double unseen = 0;
};

struct ConditionalStartOptions {
  uint32_t dimension = 1;
  double precision = 1e-4;
  size_t most_cells = 64;
};

// A place of weight w matters within z scales of its mean, w exp(-z^2 / 2) = precision / 20: that is its
// core, cut to the support. The region is the box around all cores; a cell that a core reaches into is at
// most 4 of its scales wide, or 8, 16, ... where that makes more than `most_cells`. Places with less than
// min(precision, 1e-4) / 10 of the weight are left out. Places that are not finite do not count; N(0, I)
// stands for none.
ConditionalStart conditional_start(const std::vector<ConditionalScores::Place>& places,
                                   const ConditionalBox& support, const ConditionalStartOptions& options);

}  // namespace selfnorm
