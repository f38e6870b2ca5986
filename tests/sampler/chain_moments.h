// Moments of one coordinate over all draws of all chains.
#pragma once

#include <cmath>

#include "sampler/chain_draws.h"

namespace selfnorm {

inline double mean_of(const ChainDraws& draws, uint32_t j) {
  const Points x = draws.points();
  double sum = 0;
  for (uint64_t i = 0; i < x.rows; ++i) sum += static_cast<double>(x.row(i)[j]);
  return sum / static_cast<double>(x.rows);
}

inline double deviation_of(const ChainDraws& draws, uint32_t j) {
  const Points x = draws.points();
  const double mean = mean_of(draws, j);
  double sum = 0;
  for (uint64_t i = 0; i < x.rows; ++i) sum += std::pow(static_cast<double>(x.row(i)[j]) - mean, 2);
  return std::sqrt(sum / static_cast<double>(x.rows));
}

}  // namespace selfnorm
