#include "selfnorm/objective/ranking_nce.h"

#include <cmath>

#include "selfnorm/math/kernels.h"

namespace selfnorm {

CandidateTerms RankingNce::operator()(const CandidateScores& x, std::span<double> d_sample) const {
  const size_t k = d_sample.size();
  const double target = x.score - x.log_q;
  for (size_t j = 0; j < k; ++j) d_sample[j] = x.sample_score[j] - x.sample_log_q[j];
  const LogSumExp noise = exp_in_place(d_sample.data(), k);
  LogSumExp total = noise;
  total.add(target);
  scale(std::exp(noise.max - total.value()), d_sample.data(), k);
  return {.likelihood = total.value() - target,
          .d_score = std::exp(target - total.value()) - 1,
          .d_log_normalizer = 0,
          .estimate = std::nullopt};
}

}  // namespace selfnorm
