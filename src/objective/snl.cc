#include "objective/snl.h"

#include <algorithm>
#include <cmath>

#include "gpu/module.h"
#include "math/kernels.h"
#include "objective/registry.h"

namespace selfnorm {

namespace {

// share_j -> r share_j, without inf * 0.
void scale_shares(double r, std::span<double> share) {
  if (std::isfinite(r))
    scale(r, share.data(), share.size());
  else
    for (double& d : share) d = d == 0 ? 0 : r * d;
}

}  // namespace

CandidateTerms Snl::operator()(const CandidateScores& x, std::span<double> d_sample) const {
  const ImportanceEstimate z =
      importance_weights(x.sample_score, x.sample_log_q, {x.score, x.sample_hit}, d_sample);
  const double r = std::exp(z.log_z - x.log_normalizer);
  scale_shares(r, d_sample);
  return {.likelihood = x.log_normalizer - x.score + r - 1,
          .d_score = (z.target_share > 0 ? r * z.target_share : 0) - 1,
          .d_log_normalizer = 1 - r,
          .estimate = z};
}

CandidateTerms Snl::pooled(const PooledScores& x, std::span<double> d_score,
                           std::span<double> d_sample) const {
  const ImportanceEstimate z = importance_weights(x.sample_score, x.sample_log_q, {}, d_sample);
  const double r = std::exp(z.log_z - x.log_normalizer);
  scale_shares(r, d_sample);
  const double n = static_cast<double>(x.score.size());
  double loss = 0;
  for (const double s : x.score) loss += x.log_normalizer - s;
  std::fill(d_score.begin(), d_score.end(), -1 / n);
  return {.likelihood = loss / n + r - 1, .d_log_normalizer = 1 - r, .estimate = z};
}

ObjectiveEntry snl_entry() {
  return {.name = "snl",
          .text = "a lower bound of the likelihood, equal to it where b = log Z",
          .seam = ObjectiveSeam::candidates,
          .offers = noise_offers({"normalizer", "normalizer-hidden"},
                                 {"normalizer", "normalizer-rate", "normalizer-steps", "calibrate", "drift"},
                                 {"normalizer-rate", "calibrate"}),
          .uses_normalizer = true,
          .uses_estimate = true,
          .device_formula = SELFNORM_SNL,
          .make_candidate = [] { return std::make_unique<Snl>(); }};
}

}  // namespace selfnorm
