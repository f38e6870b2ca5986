// b(x) fitted to exact values: least squares of normalizer(h(x)) against A(x) of inputs at and around those of
// training, by Adam on the normalizer alone, features constant.
#pragma once

#include <span>

#include "selfnorm/train/regressor_problem.h"

namespace selfnorm {

// A comes from quadrature at some of `rows`, half of them moved by noise. The best of the networks passed through, the one it starts from
// included, by the mean square on a fifth of them, is kept.
void fit_normalizer(const RegressorProblem& problem, std::span<const uint64_t> rows, uint64_t seed,
                    RegressorNetworks& networks);

}  // namespace selfnorm
