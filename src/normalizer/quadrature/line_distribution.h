// A distribution on a line and what is said about it: moments, quantiles, intervals, modes, CRPS.
#pragma once

#include <span>
#include <vector>

#include "normalizer/quadrature/conditional_quadrature.h"
#include "normalizer/quadrature/line_table.h"

namespace selfnorm {

struct Interval {
  double from = 0, to = 0;
};

// As a LineTable of mass 1: distribution function and inverse are monotone and continuous. At the default
// precision of the nodes normal densities have quantiles (0.005 .. 0.995), intervals, moments and CRPS right
// to 1e-3 of their deviation, most of them to 1e-5, and modes to 1e-2
// (tests/normalizer/quadrature/line_distribution.cc).
class LineDistribution {
 public:
  // Of one member, or the equal mixture of several; the coordinate of more dimensions: its marginal
  // distribution.
  static LineDistribution of(std::span<const PredictiveNodes* const> members, uint32_t coordinate,
                             uint32_t dimension, double mean, double scale);

  double mean() const;
  double deviation() const;
  double quantile(double level) const;  // level in (0, 1)
  double cdf(double y) const;
  // log P(from < y < to), whose ends may be infinite; masses below kLeastMass, which the error of the nodes
  // hides, count as that.
  static constexpr double kLeastMass = 1e-12;
  double log_mass(const Interval& interval) const;
  double log_density(double y) const;  // interpolated; for pictures, not for likelihoods
  // Local maxima with at least 5% of the largest density, highest first. Between two of them the density
  // falls to less than 99% of the lower one.
  std::vector<double> modes() const;
  Interval central(double level) const;
  // {f >= t} with t such that its mass is `level`: disjoint, ascending. Of a plateau at t the upper part is
  // left out.
  std::vector<Interval> highest_density(double level) const;
  double crps(double y) const;  // integral of (F(t) - [t >= y])^2 dt
  Interval region() const { return {table_.at.front(), table_.at.back()}; }

 private:
  LineTable table_;
};

}  // namespace selfnorm
