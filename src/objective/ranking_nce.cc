#include "objective/ranking_nce.h"

#include <cmath>

#include "gpu/module.h"
#include "math/kernels.h"
#include "math/sigmoid.h"
#include "objective/registry.h"

namespace selfnorm {
namespace {

class RankingNce final : public CandidateObjective {
 public:
  CandidateTerms operator()(const CandidateScores& x, std::span<double> d_sample) const override {
    const size_t k = d_sample.size();
    const double target = x.score - x.log_q;
    for (size_t j = 0; j < k; ++j) d_sample[j] = x.sample_score[j] - x.sample_log_q[j];
    const LogSumExp noise = exp_in_place(d_sample.data(), k);
    LogSumExp total = noise;
    total.add(target);
    scale(std::exp(noise.max - total.value()), d_sample.data(), k);
    return {.likelihood = total.value() - target, .d_score = std::exp(target - total.value()) - 1};
  }

  // a_i against the sum S of all exp a_j: the loss is softplus(log S - a_i), and the samples share 1 - p_i as
  // exp(a_j) / S.
  CandidateTerms pooled(const PooledScores& x, std::span<double> d_score,
                        std::span<double> d_sample) const override {
    for (size_t j = 0; j < d_sample.size(); ++j) d_sample[j] = x.sample_score[j] - x.sample_log_q[j];
    const LogSumExp noise = exp_in_place(d_sample.data(), d_sample.size());
    const double n = static_cast<double>(x.score.size());
    double loss = 0, wrong_sum = 0;
    for (size_t i = 0; i < x.score.size(); ++i) {
      const double margin = noise.value() - (x.score[i] - x.log_q[i]);
      const double wrong = sigmoid(margin);
      loss += softplus(margin);
      wrong_sum += wrong;
      d_score[i] = -wrong / n;
    }
    scale(wrong_sum / n / noise.sum, d_sample.data(), d_sample.size());
    return {.likelihood = loss / n};
  }
};

}  // namespace

ObjectiveEntry ranking_nce_entry() {
  return {.name = "ranking-nce",
          .text = "finds the data among draws of a proposal",
          .seam = ObjectiveSeam::candidates,
          .offers = noise_offers({}, {}, {}),
          .leaves_level = true,
          .device_formula = SELFNORM_RANKING,
          .make_candidate = [] { return std::make_unique<RankingNce>(); }};
}

}  // namespace selfnorm
