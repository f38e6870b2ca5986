#include "objective/pseudo_likelihood.h"

#include "math/sigmoid.h"
#include "objective/registry.h"
#include "selfnorm/error.h"

namespace selfnorm {

PseudoLikelihoodTerms pseudo_likelihood(double score, std::span<const double> flipped,
                                        std::span<double> d_flipped) {
  SELFNORM_CHECK(flipped.size() == d_flipped.size());
  for (size_t j = 0; j < flipped.size(); ++j) d_flipped[j] = flipped[j] - score;
  const SigmoidSums sums = sigmoid_in_place(d_flipped.data(), d_flipped.size());
  return {sums.softplus, -sums.sigmoid};
}

ObjectiveEntry pseudo_likelihood_entry() {
  return {.name = "pseudo-likelihood",
          .text = "the conditionals of binary data",
          .seam = ObjectiveSeam::conditionals,
          .offers = {{"density", {}}},
          .leaves_level = true};
}

}  // namespace selfnorm
