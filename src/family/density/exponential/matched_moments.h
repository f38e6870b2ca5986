// The maximum-likelihood estimate of families where E T = mean T is solved in closed form:
//     gaussian     P = S^-1, eta_x = P mu, eta_x2 = -P_jj / 2, eta_xx = -P_ij, with mu and S of the data
//     exponential  eta = -1 / mean x
//     poisson      eta = log mean x
//     bernoulli    eta = log(m / (1 - m)), m = mean x
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace selfnorm {

struct MatchedMoments {
  std::vector<double> eta;
  // The likelihood has no maximum: a count or bit that is always the same, a covariance that is singular.
  // Then means are taken 1e-9 inside their range, and eigenvalues of the correlations at least 1e-6.
  bool is_at_the_edge = false;
};

// Nothing for other families. `mean` is that of the statistics in the order of exponential_family.h.
std::optional<MatchedMoments> matched_moments(const std::string& word, uint32_t dimension,
                                              std::span<const double> mean);

}  // namespace selfnorm
