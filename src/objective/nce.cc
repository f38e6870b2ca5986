#include "selfnorm/objective/nce.h"

#include <cmath>

#include "selfnorm/math/sigmoid.h"

namespace selfnorm {

CandidateTerms Nce::operator()(const CandidateScores& x, std::span<double> d_sample) const {
  const size_t k = d_sample.size();
  const double level = x.log_normalizer + std::log(static_cast<double>(k));
  const double target = x.score - x.log_q - level;
  for (size_t j = 0; j < k; ++j) d_sample[j] = x.sample_score[j] - x.sample_log_q[j] - level;
  const SigmoidSums noise = sigmoid_in_place(d_sample.data(), k);
  const double wrong = sigmoid(-target);
  return {.likelihood = softplus(-target) + noise.softplus,
          .d_score = -wrong,
          .d_log_normalizer = wrong - noise.sigmoid,
          .estimate = std::nullopt};
}

}  // namespace selfnorm
