// Draws of a density q restricted to what an energy allows, S = {x : exp s(x) > 0}, by rejection, and the
// share q(S) of its draws that are inside, whose logarithm annealing needs: paths start at q / q(S) on S.
#pragma once

#include <vector>

#include "normalizer/sampling/importance_log_z.h"

namespace selfnorm {

struct PossibleDraws {
  std::vector<float> rows;  // n x d, independent
  WeightSum share;          // of weights 1 inside S and 0 outside: log_mean() is log q(S), with its error
};

// Draws in blocks until n are inside and the standard error of log q(S) is at most 0.01, at most
// max(2^20, 4 n). Where all of the first block are inside, q(S) is 1 without error. Throws Error when fewer
// than n of all are inside, and as importance_log_z does for scores and supports.
PossibleDraws possible_draws(const Energy& energy, const Density& proposal, uint64_t n, uint64_t seed);

}  // namespace selfnorm
