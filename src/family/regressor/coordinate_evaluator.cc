#include "family/regressor/coordinate_evaluator.h"

#include <algorithm>
#include <cmath>

namespace selfnorm {

TargetPlace place_of(double y, const LineDistribution& distribution) {
  TargetPlace out;
  y = std::clamp(y, -kLargestPlace, kLargestPlace);
  out.error = y - distribution.mean();
  out.median_error = y - distribution.quantile(0.5);
  out.crps = distribution.crps(y);
  out.pit = distribution.cdf(y);
  for (size_t l = 0; l < kCoverageLevels.size(); ++l) {
    TargetPlace::InInterval& in = out.intervals[l];
    const auto inside = [y](const Interval& i) { return y >= i.from && y <= i.to; };
    const Interval central = distribution.central(kCoverageLevels[l]);
    in.central = inside(central);
    in.central_width = central.to - central.from;
    for (const Interval& piece : distribution.highest_density(kCoverageLevels[l])) {
      in.highest_density = in.highest_density || inside(piece);
      in.highest_density_width += piece.to - piece.from;
    }
  }
  return out;
}

void CoordinateEvaluator::add(const TargetPlace& place) {
  norm_ = std::hypot(norm_, place.error);
  sizes_ += std::abs(place.median_error);
  crps_.add(place.crps);
  pit_.push_back(place.pit);
  for (size_t l = 0; l < sums_.size(); ++l) {
    const TargetPlace::InInterval& in = place.intervals[l];
    sums_[l].central += in.central ? 1 : 0;
    sums_[l].highest_density += in.highest_density ? 1 : 0;
    sums_[l].central_width += in.central_width;
    sums_[l].highest_density_width += in.highest_density_width;
  }
}

CoordinateEvaluation CoordinateEvaluator::finish(double scale) const {
  const double n = static_cast<double>(pit_.size());
  CoordinateEvaluation out;
  out.rmse = scale * (norm_ / std::sqrt(n));
  out.mae = scale * (sizes_ / n);
  out.crps = scale * crps_.mean;
  out.crps_error = scale * crps_.standard_error();
  out.pit.resize(pit_bins_);
  for (const double p : pit_) {
    const double bin = std::clamp(p, 0.0, 1.0) * static_cast<double>(pit_bins_);
    ++out.pit[std::min(static_cast<size_t>(bin), size_t{pit_bins_} - 1)];
  }
  out.pit_deviation = distance_from_uniform(pit_);
  for (size_t l = 0; l < sums_.size(); ++l) {
    const Coverage& sum = sums_[l];
    out.coverage.push_back({kCoverageLevels[l], sum.central / n, sum.highest_density / n,
                            scale * (sum.central_width / n), scale * (sum.highest_density_width / n)});
  }
  return out;
}

double distance_from_uniform(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const double n = static_cast<double>(values.size());
  double distance = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double below = static_cast<double>(i) / n, through = static_cast<double>(i + 1) / n;
    distance = std::max({distance, values[i] - below, through - values[i]});
  }
  return distance;
}

}  // namespace selfnorm
