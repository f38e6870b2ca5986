// A distribution-free statement about log Z (theory.md 4): from n independent held-out inputs of which
// `exceed` have |A - c| > eps, with confidence 1 - beta at most a fraction rho of all inputs exceed eps. rho
// is the one-sided Clopper-Pearson bound: the largest p with P(Binomial(n, p) <= exceed) >= beta,
// the upper beta quantile of Beta(exceed + 1, n - exceed).
#pragma once

#include <cstdint>

namespace selfnorm {

// The bound above; 1 when exceed = n. confidence in (0, 1), n >= 1.
double clopper_pearson_upper(uint64_t exceed, uint64_t n, double confidence);

// The largest number of exceedances among n with clopper_pearson_upper(k, n, confidence) <= rho; -1 when even
// none is too many (n is too small). rho in (0, 1). The smallest eps that can be certified is then the
// (k+1)-th largest |A - c|.
int64_t largest_certifiable_count(uint64_t n, double rho, double confidence);

}  // namespace selfnorm
