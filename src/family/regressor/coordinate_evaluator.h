// What targets say of the marginal predictive distributions of one coordinate (regression_evaluation.h), in
// standardised units until the end: a mean far above the scale costs no digits.
#pragma once

#include <array>
#include <vector>

#include "audit/stream.h"
#include "family/regressor/regression_evaluation.h"

namespace selfnorm {

inline constexpr std::array<double, 4> kCoverageLevels = {0.5, 0.8, 0.9, 0.95};

// Of one row.
struct TargetPlace {
  struct InInterval {
    bool central = false, highest_density = false;
    double central_width = 0, highest_density_width = 0;
  };
  double error = 0, median_error = 0;  // y - mean, y - median
  double crps = 0, pit = 0;
  std::array<InInterval, kCoverageLevels.size()> intervals;
};
// y beyond +-kLargestPlace counts as there, so that no sum over targets is NaN.
inline constexpr double kLargestPlace = 1e300;
TargetPlace place_of(double y, const LineDistribution& distribution);

class CoordinateEvaluator {
 public:
  explicit CoordinateEvaluator(uint32_t pit_bins) : pit_bins_(pit_bins) {}
  void add(const TargetPlace& place);
  const std::vector<double>& pit() const { return pit_; }
  CoordinateEvaluation finish(double scale) const;  // in the units of the data

 private:
  uint32_t pit_bins_;
  double norm_ = 0, sizes_ = 0;  // root of the sum of squared errors; sum of absolute ones
  RunningVariance crps_;
  std::vector<double> pit_;
  std::array<Coverage, kCoverageLevels.size()> sums_;  // of shares and widths
};

// sup_u |share of values <= u - u|, the distance of a sample from the uniform distribution on [0, 1].
double distance_from_uniform(std::vector<double> values);

}  // namespace selfnorm
