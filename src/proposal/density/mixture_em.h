// A Gaussian mixture by expectation maximisation in log space, started by k-means++ (Arthur & Vassilvitskii
// 2007, the best of a few candidates at each centre). It maximises the penalised likelihood
//     sum_i log q(x_i) - a/2 sum_k (log det S_k + tr(S_0 S_k^-1)),   S_0 = S / K^(2/d),  a = d + 1,
// with S the covariance of all rows: as if every component had seen a more rows of spread S_0 (Fraley &
// Raftery 2007), so no covariance is singular. The value never falls from one iteration to the next, except
// where a component that is left with less than one row is dropped.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "proposal/density/gaussian_mixture.h"

namespace selfnorm {

struct EmOptions {
  uint32_t components = 32;   // >= 1; at most one for d + 1 rows and one for each distinct row are used
  uint64_t iterations = 200;  // at most
  double tolerance = 1e-5;    // stops when an iteration gains less than this per row and column
  uint64_t rows = 20000;      // of more data, a random choice of this many is used
  uint64_t seed = 0;
};

struct EmResult {
  MixtureComponents components;  // in the units of the data
  std::vector<double> trace;     // the penalised log-likelihood per standardised row, by iteration
};

EmResult fit_mixture(const Points& data, const EmOptions& options);

// k-means++ (Arthur & Vassilvitskii 2007): each centre is a row drawn in proportion to its squared distance
// from the centres there are, the best of 2 + log K draws (the one that leaves the smallest sum of squares).

// Of each row of `rows` (n x d), the index of its nearest centre; every index below the largest occurs. Fewer
// than `clusters` when there are fewer distinct rows.
std::vector<uint32_t> plus_plus_clusters(std::span<const double> rows, uint32_t dimension, uint32_t clusters,
                                         uint64_t seed);

}  // namespace selfnorm
