// s = f + log base as a function of y, with the base a constant of the parameters: what objectives of the
// derivatives in y and Langevin chains follow.
#pragma once

#include <vector>

#include "family/regressor/train/regressor_step.h"

namespace selfnorm {

// One y for every row of a minibatch.
class RegressorSlope {
 public:
  // The minibatch has to outlive it.
  RegressorSlope(const RegressorParts& parts, const RegressorStepInput& in);

  ConditionalPoints tilt_at(const Points& y) const { return {in_.context, y, row_}; }
  // ds/dy, n x d.
  void operator()(const Points& y, std::span<float> slope);
  // First and second derivative along v.
  void directional(const Points& y, const Points& v, std::span<double> first, std::span<double> second);

 private:
  MixturePoints base_at(const Points& y) const { return {in_.mixture, y, row_}; }

  RegressorParts parts_;
  const RegressorStepInput& in_;
  double weight_;  // of the broad component in the base
  std::vector<uint32_t> row_;
  std::vector<double> base_, base_second_;
};

}  // namespace selfnorm
