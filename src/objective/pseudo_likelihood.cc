#include "selfnorm/objective/pseudo_likelihood.h"

#include "selfnorm/base/error.h"
#include "selfnorm/math/sigmoid.h"

namespace selfnorm {

PseudoLikelihoodTerms pseudo_likelihood(double score, std::span<const double> flipped,
                                        std::span<double> d_flipped) {
  SELFNORM_CHECK(flipped.size() == d_flipped.size());
  for (size_t j = 0; j < flipped.size(); ++j) d_flipped[j] = flipped[j] - score;
  const SigmoidSums sums = sigmoid_in_place(d_flipped.data(), d_flipped.size());
  return {sums.softplus, -sums.sigmoid};
}

}  // namespace selfnorm
