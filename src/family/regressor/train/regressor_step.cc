#include "family/regressor/train/regressor_step.h"

#include <numeric>

#include "family/regressor/train/regressor_slope.h"
#include "model/regressor/regressor.h"
#include "objective/registry.h"
#include "sampler/hmc.h"
#include "selfnorm/error.h"

namespace selfnorm {

void base_log_prob(const RegressorParts& parts, const MixturePoints& at, std::span<double> out) {
  base_log_prob(parts.mixture, parts.options.base == "broad" ? 1 : parts.options.tail_weight, at, out);
}

float reflected(const ConditionalMixture& mixture, double y, uint32_t j) {
  double velocity = 0;
  return mixture.within(
      static_cast<double>(
          BoxWalls(Support::box(mixture.shape().lower, mixture.shape().upper)).reflect(j, y, velocity)),
      j);
}

std::unique_ptr<RegressorStep> make_regressor_step(const RegressorParts& parts) {
  switch (objective_entry(parts.options.objective).seam) {
    case ObjectiveSeam::candidates:
      return make_candidate_regressor_step(parts);
    case ObjectiveSeam::chains:
      return make_chain_regressor_step(parts);
    case ObjectiveSeam::matching:
      return make_matching_regressor_step(parts);
    default:
      throw Error("objective mdn is the likelihood of the mixture: it has no tilt to train");
  }
}

RegressorSlope::RegressorSlope(const RegressorParts& parts, const RegressorStepInput& in)
    : parts_(parts),
      in_(in),
      weight_(parts.options.base == "broad" ? 1 : parts.options.tail_weight),
      row_(in.y.rows) {
  std::iota(row_.begin(), row_.end(), 0u);
}

void RegressorSlope::operator()(const Points& y, std::span<float> slope) {
  base_second_.resize(y.rows);
  parts_.tilt.score_gradient(tilt_at(y), base_second_, slope);
  base_.resize(y.size());
  parts_.mixture.log_prob_gradient(base_at(y), weight_, base_);
  for (size_t i = 0; i < base_.size(); ++i)
    slope[i] = static_cast<float>(static_cast<double>(slope[i]) + base_[i]);
}

void RegressorSlope::directional(const Points& y, const Points& v, std::span<double> first,
                                 std::span<double> second) {
  parts_.tilt.directional(tilt_at(y), v, first, second);
  base_.resize(y.rows);
  base_second_.resize(y.rows);
  parts_.mixture.directional(base_at(y), v, weight_, base_, base_second_);
  for (size_t i = 0; i < y.rows; ++i) {
    first[i] += base_[i];
    second[i] += base_second_[i];
  }
}

}  // namespace selfnorm
