#include "selfnorm/objective/nce.h"

#include <algorithm>
#include <cmath>

namespace selfnorm {
namespace {

double sigma(double x) {
  const double e = std::exp(-std::abs(x));
  return (x < 0 ? e : 1) / (1 + e);
}

// -log sigma(-x)
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

}  // namespace

CandidateTerms Nce::operator()(const CandidateScores& x, std::span<double> d_sample) const {
  const double level = x.log_normalizer + std::log(static_cast<double>(d_sample.size()));
  const double target = x.score - x.log_q - level;
  CandidateTerms terms{.likelihood = softplus(-target),
                       .d_score = -sigma(-target),
                       .d_log_normalizer = sigma(-target),
                       .estimate = std::nullopt};
  for (size_t j = 0; j < d_sample.size(); ++j) {
    const double noise = x.sample_score[j] - x.sample_log_q[j] - level;
    terms.likelihood += softplus(noise);
    d_sample[j] = sigma(noise);
    terms.d_log_normalizer -= d_sample[j];
  }
  return terms;
}

}  // namespace selfnorm
