#include "objective/nce.h"

#include <cmath>

#include "gpu/module.h"
#include "math/sigmoid.h"
#include "objective/registry.h"

namespace selfnorm {
namespace {

class Nce final : public CandidateObjective {
 public:
  // One target is a pool of one.
  CandidateTerms operator()(const CandidateScores& x, std::span<double> d_sample) const override {
    double d_score = 0;
    CandidateTerms terms = pooled({.score = {&x.score, 1},
                                   .log_q = {&x.log_q, 1},
                                   .sample_score = x.sample_score,
                                   .sample_log_q = x.sample_log_q,
                                   .log_normalizer = x.log_normalizer},
                                  {&d_score, 1}, d_sample);
    terms.d_score = d_score;
    return terms;
  }

  CandidateTerms pooled(const PooledScores& x, std::span<double> d_score,
                        std::span<double> d_sample) const override {
    const double level = x.log_normalizer + std::log(static_cast<double>(d_sample.size()));
    for (size_t j = 0; j < d_sample.size(); ++j) d_sample[j] = x.sample_score[j] - x.sample_log_q[j] - level;
    const SigmoidSums noise = sigmoid_in_place(d_sample.data(), d_sample.size());
    const double n = static_cast<double>(x.score.size());
    double loss = 0, wrong_sum = 0;
    for (size_t i = 0; i < x.score.size(); ++i) {
      const double target = x.score[i] - x.log_q[i] - level;
      const double wrong = sigmoid(-target);
      loss += softplus(-target);
      wrong_sum += wrong;
      d_score[i] = -wrong / n;
    }
    return {.likelihood = loss / n + noise.softplus, .d_log_normalizer = wrong_sum / n - noise.sigmoid};
  }
};

}  // namespace

ObjectiveEntry nce_entry() {
  return {.name = "nce",
          .text = "tells the data from draws of a proposal",
          .seam = ObjectiveSeam::candidates,
          .offers = noise_offers({"normalizer", "normalizer-hidden"},
                                 {"normalizer", "normalizer-rate", "normalizer-steps", "calibrate"},
                                 {"normalizer-rate", "calibrate"}),
          .uses_normalizer = true,
          .device_formula = SELFNORM_NCE,
          .make_candidate = [] { return std::make_unique<Nce>(); }};
}

}  // namespace selfnorm
