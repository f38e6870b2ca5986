// pseudo-likelihood (Besag 1975) of a binary vector x: with x^(j) the vector whose coordinate j is flipped,
//     loss = -sum_j log p(x_j | the rest) = sum_j softplus(s(x^(j)) - s(x)).
//     d loss/ds(x^(j)) = sigma(s(x^(j)) - s(x)),   d loss/ds(x) = -sum_j of them.
// No normalizer; consistent; finite for all finite scores.
#pragma once

#include <span>

namespace selfnorm {

struct ObjectiveEntry;

struct PseudoLikelihoodTerms {
  double likelihood = 0;  // minus the log pseudo-likelihood
  double d_score = 0;
};

// `flipped` holds s(x^(j)) for j = 1 .. d; d_flipped, as long, is overwritten.
PseudoLikelihoodTerms pseudo_likelihood(double score, std::span<const double> flipped,
                                        std::span<double> d_flipped);

// In the registry.
ObjectiveEntry pseudo_likelihood_entry();

}  // namespace selfnorm
