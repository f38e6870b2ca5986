#include "objective/importance_sampling.h"

#include <algorithm>

#include "gpu/module.h"
#include "objective/registry.h"

namespace selfnorm {
namespace {

class ImportanceSampling final : public CandidateObjective {
 public:
  CandidateTerms operator()(const CandidateScores& x, std::span<double> d_sample) const override {
    const ImportanceEstimate z =
        importance_weights(x.sample_score, x.sample_log_q, {x.score, x.sample_hit}, d_sample);
    return {.likelihood = z.log_z - x.score, .d_score = z.target_share - 1, .estimate = z};
  }

  CandidateTerms pooled(const PooledScores& x, std::span<double> d_score,
                        std::span<double> d_sample) const override {
    const ImportanceEstimate z = importance_weights(x.sample_score, x.sample_log_q, {}, d_sample);
    const double n = static_cast<double>(x.score.size());
    double loss = 0;
    for (const double s : x.score) loss += z.log_z - s;
    std::fill(d_score.begin(), d_score.end(), -1 / n);
    return {.likelihood = loss / n, .estimate = z};
  }
};

}  // namespace

ObjectiveEntry importance_sampling_entry() {
  return {.name = "is",
          .text = "the likelihood, its Z estimated from draws of a proposal",
          .seam = ObjectiveSeam::candidates,
          .offers = noise_offers({}, {}, {}),
          .leaves_level = true,
          .uses_estimate = true,
          .device_formula = SELFNORM_IS,
          .make_candidate = [] { return std::make_unique<ImportanceSampling>(); }};
}

}  // namespace selfnorm
