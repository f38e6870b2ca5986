#include "selfnorm/objective/loss.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "selfnorm/base/error.h"

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
  return *this;
}

template <class Real>
LossSum value_and_gradient(const ExactPass<Real>& pass, const Objective& objective, const LossQuery& query,
                           std::span<const Real> theta, std::span<Real> gradient) {
  const uint64_t n = pass.examples();
  const uint64_t normalised = std::min(n, query.normalised);
  SELFNORM_CHECK(query.weight.empty() || query.weight.size() == n);
  const auto weight = [&](uint64_t i) {
    return query.weight.empty() ? 1.0 : static_cast<double>(query.weight[i]);
  };
  const auto terms = [&](uint64_t i, double score, double log_z) {
    return objective({.score = score, .log_z = log_z, .centre = query.centre, .normalised = i < normalised});
  };

  std::vector<double> scores(n), log_zs(n);
  pass.run(
      theta, normalised,
      [&](uint64_t i, double score, double log_z) {
        scores[i] = score;
        log_zs[i] = log_z;
        const LossTerms t = terms(i, score, log_z);
        const double factor = weight(i) * query.gradient_scale;
        return ScoreDerivatives{factor * t.d_score, factor * t.d_log_z};
      },
      gradient);

  LossSum sum;
  for (uint64_t i = 0; i < n; ++i) {
    const LossTerms t = terms(i, scores[i], log_zs[i]);
    const double w = weight(i);
    sum.weight += w;
    sum.likelihood += w * t.likelihood;
    sum.penalty += w * t.penalty;
    sum.d_centre += w * t.d_centre;
    if (i < normalised) {
      const double excess = log_zs[i] - query.centre;
      sum.normalised_weight += w;
      sum.nll += w * (log_zs[i] - scores[i]);
      sum.log_z += w * log_zs[i];
      sum.log_z_square += w * excess * excess;
    }
  }
  return sum;
}

template LossSum value_and_gradient(const ExactPass<float>&, const Objective&, const LossQuery&,
                                    std::span<const float>, std::span<float>);
template LossSum value_and_gradient(const ExactPass<double>&, const Objective&, const LossQuery&,
                                    std::span<const double>, std::span<double>);

}  // namespace selfnorm
