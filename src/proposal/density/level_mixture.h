// A mixture of products of categoricals (of Bernoullis, where every column has two levels):
//     q(x) = sum_k w_k prod_j theta_kj[x_j],
// by expectation maximisation from a few random starts, of which the most likely is kept. Shares are drawn a
// little to those of all rows: theta_kj[l] = (n_kjl + a p_j[l]) / (n_k + a), p_j[l] with half a row added to
// each level, so that none is 0.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/points/points.h"

namespace selfnorm {

struct LevelMixtureOptions {
  uint32_t components = 16;    // >= 1; at most one for 20 rows
  uint32_t starts = 3;         // >= 1
  uint64_t iterations = 60;    // of a start, at most
  double tolerance = 1e-4;     // stops when an iteration gains less than this per row
  uint64_t cells = 1'000'000;  // rows x columns; of more rows a random choice is used
  uint64_t seed = 0;
};

class LevelMixture {
 public:
  // log w_k; log theta_kj[l], column after column, level after level, one a component.
  LevelMixture(std::vector<uint32_t> levels, std::vector<double> log_weight, std::vector<double> log_share);

  size_t components() const { return log_weight_.size(); }
  const std::vector<double>& log_weight() const { return log_weight_; }

  // log w_k + log prod_j theta_kj[x_j] of every component; -inf for a value that is no level.
  void log_terms(std::span<const float> row, std::span<double> out) const;
  void log_prob(const Points& x, std::span<double> out) const;

 private:
  std::vector<uint32_t> levels_;
  std::vector<size_t> begin_;  // of each column's levels, and their number
  std::vector<double> log_weight_, log_share_;
};

// x_j = 0 .. levels_j - 1 in all rows, of which there is at least one.
LevelMixture fit_level_mixture(const Points& data, const std::vector<uint32_t>& levels,
                               const LevelMixtureOptions& options = {});

}  // namespace selfnorm
