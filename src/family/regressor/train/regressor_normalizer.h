// b(x) fitted to exact values: with r = normalizer(h(x)) - A(x) at inputs at and around those of training,
// Huber's loss r^2/2 up to |r| = 0.1 and linear beyond, so that a few inputs far outside, where A(x) is
// anything, do not rule; by Adam on the normalizer alone, features constant.
#pragma once

#include <span>

#include "family/regressor/train/regressor_problem.h"

namespace selfnorm {

// A comes from quadrature at some of `rows`, a quarter of them moved by noise. The best of the networks
// passed through, the one it starts from included, by the mean loss on a fifth of them, is kept.
void fit_normalizer(const RegressorProblem& problem, std::span<const uint64_t> rows, uint64_t seed,
                    RegressorNetworks& networks);

}  // namespace selfnorm
