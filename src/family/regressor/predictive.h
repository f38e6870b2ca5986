// What a predictive density says, from its nodes (normalizer/quadrature/conditional_quadrature.h), in the
// units of the data. One dimension of y: everything. Two or three: the same for each coordinate's marginal
// distribution.
//
// Samples are drawn by inverse distribution functions: of the line in one dimension; otherwise a cell by its
// mass, then inside it one coordinate after the other, each given those before, by the polynomial through the
// densities at the nodes. So they are exact up to the error of the quadrature and of that polynomial where it
// had to be cut at 0. Stream i of the seed is for row i.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "data/table/frame_encoder.h"
#include "model/regressor/regressor.h"
#include "normalizer/quadrature/line_distribution.h"

namespace selfnorm {

class OptionTable;

struct PredictionOptions {
  std::vector<double> quantiles = {0.05, 0.25, 0.5, 0.75, 0.95};
  std::vector<double> intervals = {0.9};  // levels of central and highest-density intervals
  std::vector<double> survival = {};  // places t of P(y > t), in the units of the data, of every coordinate
  uint64_t samples = 0;               // draws for every input
  uint64_t grid = 0;                  // points of the density, over the central 99.9% and a tenth of
                                      // their width on either side, inside the support; 0 or >= 2
  uint64_t seed = 0;
  ConditionalQuadratureOptions quadrature;
  // Upper ends of targets that are intervals, y being the lower ones: their log-density is the log mass.
  std::span<const double> high = {};
  void validate() const;
};
OptionTable prediction_option_table(PredictionOptions& options);

// Of one input and one coordinate.
struct CoordinatePrediction {
  double mean = 0, deviation = 0, median = 0;
  std::vector<double> modes, quantiles;
  std::vector<double> survival;                        // P(y > t), one a place
  std::vector<Interval> central;                       // one a level
  std::vector<std::vector<Interval>> highest_density;  // one list a level
  std::vector<double> grid_y, grid_density;
};

struct Prediction {
  std::vector<CoordinatePrediction> coordinates;
  double log_normalizer = 0;              // A(x), exact; ensembles: of the first member
  double normalizer = 0;                  // b(x), of the same member
  double error = 0, tail = 0;             // of the quadrature, largest of the members
  std::optional<double> log_density;      // of the given y, exact
  std::optional<double> log_density_raw;  // with b(x) in the place of A(x)
  std::vector<double> samples;            // samples x d
};

// In blocks of inputs; `each` gets row number and prediction, in order. y: the targets in the units of the
// data, row-major, or none (empty); a target that is NaN has no log-density, one outside the support or of
// density 0 (TargetReach::kFar) has -inf.
void predict(const Regressor& model, const InputRows& x, std::span<const double> y,
             const PredictionOptions& options, const std::function<void(uint64_t, Prediction&&)>& each);
// log p(y|x) with b(x) in the place of A(x): one evaluation a row and no quadrature.
std::vector<double> raw_log_density(const Regressor& model, const InputRows& x, std::span<const double> y);

}  // namespace selfnorm
