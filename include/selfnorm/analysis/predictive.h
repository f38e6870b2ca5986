// What a predictive density says, from its nodes (normalizer/conditional_quadrature.h), in the units of the
// data. One dimension of y: everything. Two or three: the same for each coordinate's marginal distribution.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "selfnorm/data/frame_encoder.h"
#include "selfnorm/model/regressor/regressor.h"
#include "selfnorm/normalizer/conditional_quadrature.h"

namespace selfnorm {

struct Interval {
  double from = 0, to = 0;
};

// A distribution on a line as a piecewise function of its nodes: distribution function and inverse are
// monotone, continuous, and meet at the nodes of the rule.
class LineDistribution {
 public:
  // Of one member, or the equal mixture of several; the coordinate of more dimensions.
  static LineDistribution of(std::span<const PredictiveNodes* const> members, uint32_t coordinate,
                             uint32_t dimension, double mean, double scale);

  double mean() const;
  double deviation() const;
  double quantile(double level) const;  // level in (0, 1)
  double cdf(double y) const;
  double log_density(double y) const;  // interpolated; for pictures, not for likelihoods
  std::vector<double> modes() const;   // local maxima with at least 5% of the largest density, highest first
  Interval central(double level) const;
  std::vector<Interval> highest_density(double level) const;  // disjoint, ascending, of total mass `level`
  double crps(double y) const;                                // integral of (F(t) - [t >= y])^2 dt

 private:
  std::vector<double> at_, density_, cumulative_;
};

struct PredictionOptions {
  std::vector<double> quantiles = {0.05, 0.25, 0.5, 0.75, 0.95};
  std::vector<double> intervals = {0.9};  // levels of central and highest-density intervals
  uint64_t samples = 0;                   // draws for every input
  uint64_t grid = 0;                      // one dimension: points of the density over its region
  uint64_t seed = 0;
  ConditionalQuadratureOptions quadrature;
  void validate() const;
};

// Of one input and one coordinate.
struct CoordinatePrediction {
  double mean = 0, deviation = 0, median = 0;
  std::vector<double> modes, quantiles;
  std::vector<Interval> central;                       // one a level
  std::vector<std::vector<Interval>> highest_density;  // one list a level
  std::vector<double> grid_y, grid_density;
};

struct Prediction {
  std::vector<CoordinatePrediction> coordinates;
  double log_normalizer = 0;              // A(x), exact; ensembles: of the first member
  double normalizer = 0;                  // b(x)
  double error = 0, tail = 0;             // of the quadrature, largest of the members
  std::optional<double> log_density;      // of the given y, exact
  std::optional<double> log_density_raw;  // with b(x) in the place of A(x)
  std::vector<double> samples;            // samples x d
};

// In blocks of inputs; `each` gets row number and prediction, in order. y: the targets in the units of the
// data, or none (data null).
void predict(const Regressor& model, const InputRows& x, const Points& y, const PredictionOptions& options,
             const std::function<void(uint64_t, Prediction&&)>& each);
// log p(y|x) with b(x) in the place of A(x): one evaluation a row and no quadrature.
std::vector<double> raw_log_density(const Regressor& model, const InputRows& x, const Points& y);

}  // namespace selfnorm
