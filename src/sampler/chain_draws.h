// Draws of many chains.
#pragma once

#include <cstdint>
#include <vector>

#include "data/points/points.h"

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

// Of chains that move() advances, which returns the acceptance: `draws` of each, `thin` moves apart.
template <class Chains, class Move>
ChainDraws draw_chains(const Chains& chains, uint64_t draws, uint64_t thin, const Move& move) {
  const Points start = chains.points();
  ChainDraws out{start.rows, draws, start.columns, {}, 0, 0, 0};
  out.rows.reserve(draws * start.size());
  for (uint64_t t = 0; t < draws; ++t) {
    for (uint64_t k = 0; k < thin; ++k) out.acceptance += move();
    const Points x = chains.points();
    out.rows.insert(out.rows.end(), x.data, x.data + x.size());
  }
  if (draws > 0) out.acceptance /= static_cast<double>(draws * thin);
  out.evaluations = chains.evaluations();
  return out;
}

// Whether chains agree, and how many independent draws theirs are worth, by coordinate (Gelman et al. 2013,
// sections 11.4 and 11.5). Every chain is split in two, so that drift shows. With W the mean variance within
// the m half-chains of n draws and B/n the variance of their means,
//     var+ = (n-1)/n W + B/n,   R-hat = sqrt(var+ / W),
//     rho_t = 1 - (W - mean autocovariance at lag t) / var+,
//     ESS = m n / (-1 + 2 sum_k P_k),   P_k = rho_{2k} + rho_{2k+1},
// summed while P_k > 0 and made decreasing (Geyer 1992); at most m n log10(m n). A coordinate that is the
// same everywhere has R-hat 1 and ESS m n; chains that never move from different places have R-hat inf.
struct ChainDiagnostics {
  std::vector<double> r_hat, effective;  // of every coordinate

  double worst_r_hat() const;
  double least_effective() const;
};

// Throws Error for fewer than 4 draws of each chain.
ChainDiagnostics chain_diagnostics(const ChainDraws& draws);

}  // namespace selfnorm
