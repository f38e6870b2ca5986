// How good a density is on data, with the best log Z that applies and its error (theory.md 4): enumeration
// for levels up to 2^24 points, quadrature up to 3 dimensions, annealed importance sampling or importance
// sampling from the model's proposal beyond, whichever has the tighter interval.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "selfnorm/data/point_source.h"
#include "selfnorm/model/energy/density_file.h"
#include "selfnorm/normalizer/log_z_estimate.h"

namespace selfnorm {

struct DensityEvaluationOptions {
  std::string method = "auto";   // auto | quadrature | enumeration | importance | annealed
  uint64_t samples = 100'000;    // importance
  double least_effective = 100;  // of importance sampling; below it the number is refused
  double precision = 1e-3;       // of log Z by quadrature
  uint64_t seed = 0;
};

// All in nats per row, in the units of the data (log Z itself in standardised units, as b is).
struct DensityEvaluation {
  uint64_t rows = 0;
  LogZEstimate log_z;
  bool is_trusted = true;  // false: too few effective samples; nll is not to be printed as a bare number
  std::string distrust;    // why
  double b = 0;
  double nll = 0, nll_low = 0, nll_high = 0;  // with log_z, and with the ends of its interval
  double nll_error = 0;                       // standard error of the mean over rows
  double nll_b = 0;                           // with b in the place of log Z: the raw score
  double snl_bound = 0;  // mean s - b - exp(log_z - b) + 1, a lower bound of the log-likelihood, from log_z
  double log_ratio = 0;  // log_z - b
};

LogZEstimate best_log_z(const DensityModel& model, const DensityEvaluationOptions& options);
DensityEvaluation evaluate_density(const DensityModel& model, const PointSource& data,
                                   const DensityEvaluationOptions& options);
// log p(x_i) with b: what `score` prints.
std::vector<double> density_scores(const DensityModel& model, const Points& x);

}  // namespace selfnorm
