#include "objective/nce.h"

#include <cmath>

#include "math/sigmoid.h"
#include "objective/registry.h"

namespace selfnorm {

namespace {

// D(y_j) of the samples, in place their sigma(D).
SigmoidSums noise_sums(std::span<const double> score, std::span<const double> log_q, double level,
                       std::span<double> d_sample) {
  for (size_t j = 0; j < d_sample.size(); ++j) d_sample[j] = score[j] - log_q[j] - level;
  return sigmoid_in_place(d_sample.data(), d_sample.size());
}

}  // namespace

CandidateTerms Nce::operator()(const CandidateScores& x, std::span<double> d_sample) const {
  const double level = x.log_normalizer + std::log(static_cast<double>(d_sample.size()));
  const SigmoidSums noise = noise_sums(x.sample_score, x.sample_log_q, level, d_sample);
  const double target = x.score - x.log_q - level;
  const double wrong = sigmoid(-target);
  return {.likelihood = softplus(-target) + noise.softplus,
          .d_score = -wrong,
          .d_log_normalizer = wrong - noise.sigmoid,
          .estimate = std::nullopt};
}

CandidateTerms Nce::pooled(const PooledScores& x, std::span<double> d_score,
                           std::span<double> d_sample) const {
  const double level = x.log_normalizer + std::log(static_cast<double>(d_sample.size()));
  const SigmoidSums noise = noise_sums(x.sample_score, x.sample_log_q, level, d_sample);
  const double n = static_cast<double>(x.score.size());
  double loss = 0, wrong_sum = 0;
  for (size_t i = 0; i < x.score.size(); ++i) {
    const double target = x.score[i] - x.log_q[i] - level;
    const double wrong = sigmoid(-target);
    loss += softplus(-target);
    wrong_sum += wrong;
    d_score[i] = -wrong / n;
  }
  return {.likelihood = loss / n + noise.softplus,
          .d_score = 0,
          .d_log_normalizer = wrong_sum / n - noise.sigmoid,
          .estimate = std::nullopt};
}

ObjectiveEntry nce_entry() {
  return {.name = "nce",
          .text = "tells the data from draws of a proposal",
          .seam = ObjectiveSeam::candidates,
          .offers = noise_offers({"normalizer", "normalizer-hidden"},
                                 {"normalizer", "normalizer-rate", "normalizer-steps", "calibrate"},
                                 {"normalizer-rate", "calibrate"}),
          .uses_normalizer = true,
          .make_candidate = [] { return std::make_unique<Nce>(); }};
}

}  // namespace selfnorm
