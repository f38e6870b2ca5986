#include "objective/loss.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "selfnorm/error.h"

namespace selfnorm {

double LossSum::rms_log_z() const { return std::sqrt(log_z_square / normalised_weight); }

LossSum& LossSum::operator+=(const LossSum& other) {
  weight += other.weight;
  likelihood += other.likelihood;
  penalty += other.penalty;
  normalised_weight += other.normalised_weight;
  nll += other.nll;
  log_z += other.log_z;
  log_z_square += other.log_z_square;
  d_centre += other.d_centre;
  estimated_weight += other.estimated_weight;
  log_ratio += other.log_ratio;
  effective += other.effective;
  return *this;
}

void LossSum::add(const CandidateTerms& terms, double w, double b) {
  weight += w;
  likelihood += w * terms.likelihood;
  d_centre += w * terms.d_log_normalizer;
  if (!terms.estimate) return;
  estimated_weight += w;
  log_ratio += w * (terms.estimate->log_z - b);
  effective += w * terms.estimate->effective;
}

template <class Real>
LossSum value_and_gradient(const ExactPass<Real>& pass, const Objective& objective, const LossQuery& query,
                           std::span<const Real> theta, std::span<Real> gradient) {
  const uint64_t n = pass.examples();
  const uint64_t normalised = std::min(n, query.normalised);
  SELFNORM_CHECK(query.weight.empty() || query.weight.size() == n);
  SELFNORM_CHECK(query.normalizer.empty() || query.normalizer.size() == n);
  const auto weight = [&](uint64_t i) {
    return query.weight.empty() ? 1.0 : static_cast<double>(query.weight[i]);
  };
  const double fraction = static_cast<double>(normalised) / static_cast<double>(n);
  std::vector<LossSum> parts((n + kGranule - 1) / kGranule);
  pass.run(
      theta, normalised,
      [&](uint64_t i, double score, double log_z) {
        const bool is_normalised = i < normalised;
        const LossTerms t = objective({.score = score,
                                       .log_z = log_z,
                                       .centre = query.centre,
                                       .fraction = fraction,
                                       .normalised = is_normalised});
        const double w = weight(i);
        LossSum& sum = parts[i / kGranule];
        sum.weight += w;
        sum.likelihood += w * t.likelihood;
        sum.penalty += w * t.penalty;
        sum.d_centre += w * t.d_centre;
        if (is_normalised) {
          const double level = query.normalizer.empty() ? log_z : log_z - query.normalizer[i];
          const double excess = level - query.centre;
          sum.normalised_weight += w;
          sum.nll += w * (log_z - score);
          sum.log_z += w * level;
          sum.log_z_square += w * excess * excess;
        }
        const double factor = w * query.gradient_scale;
        return ScoreDerivatives{factor * t.d_score, factor * t.d_log_z};
      },
      gradient);
  LossSum sum;
  for (const LossSum& part : parts) sum += part;
  return sum;
}

template LossSum value_and_gradient(const ExactPass<float>&, const Objective&, const LossQuery&,
                                    std::span<const float>, std::span<float>);
template LossSum value_and_gradient(const ExactPass<double>&, const Objective&, const LossQuery&,
                                    std::span<const double>, std::span<double>);

}  // namespace selfnorm
