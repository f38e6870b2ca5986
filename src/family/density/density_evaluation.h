// How good a density is on data, with the best log Z that applies and its error
// (family/density/density_log_z.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "audit/simple_model.h"
#include "data/points/point_source.h"
#include "family/density/density_log_z.h"
#include "family/density/interval_rows.h"
#include "family/density/train/density_options.h"
#include "model/energy/density_file.h"

namespace selfnorm {

// All in nats per row, in the units of the data (log Z itself in standardised units, as b is).
struct DensityEvaluation {
  uint64_t rows = 0;
  uint64_t outside = 0;  // rows outside the support, of density 0: then nll is +inf and not trusted
  LogZEstimate log_z;
  bool is_trusted = true;  // false: nll is not to be printed as a bare number
  std::string distrust;    // why, and what to do
  double b = 0;
  double nll = 0, nll_low = 0, nll_high = 0;  // with log_z, and with the ends of its interval
  double nll_error = 0;  // standard error of the mean over rows (inside the support); 0 for one row
  double nll_b = 0;      // with b in the place of log Z: the raw score
  double snl_bound = 0;  // mean s - b - exp(log_z - b) + 1, a lower bound of the log-likelihood, from log_z
  double log_ratio = 0;  // log_z - b
  // The root mean square of that over the rows: where they have integrals of their own, b depends on them too
  // (model/energy/autoregressive_energy.h), and log_ratio is the mean.
  double rms = 0;
  // Rows with intervals, whose likelihood is a mass in the censored columns (family/density/interval_rows.h),
  // those of them whose errors are doubtful, and what the errors of their masses make of nll at most.
  uint64_t intervals = 0, doubtful_intervals = 0;
  double interval_error = 0;
};

// Rows are read in blocks. Throws Error when there are none, when they have another number of columns than
// the model, and when a score is NaN or +inf.
DensityEvaluation evaluate_density(const DensityModel& model, const PointSource& data,
                                   const DensityEvaluationOptions& options);
// The same of a model that was just trained. A b that was learned and calibrated (`options`), and that a
// trusted log Z shows to be far off, is moved there, in the model and in the evaluation; `moved` says so in
// words, empty when it was not.
struct SettledDensity {
  DensityEvaluation evaluation;
  std::string moved;
};
// `say` hears how log Z is looked for.
SettledDensity settle_normalizer(DensityModel& model, const PointSource& data, const DensityOptions& options,
                                 const std::function<void(const std::string&)>& say = {});
// An energy that tilts its proposal and whose log Z is not to be trusted becomes a smaller one whose log Z
// is, where that can be found. Where it is not better than its proposal on rows held out of training, or
// cannot be told, the model becomes the proposal. The text says so; otherwise it is empty. `settled` is of
// these rows, which `rows` names: "training" ones where nothing was held out.
std::string keep_proposal(DensityModel& model, const PointSource& held_out, DensityEvaluation& settled,
                          const std::string& rows = "held-out");
// log p(x_i) with b or with this log Z, in the units of the data: what `score` prints; -inf outside the
// support. `precision` is the target of the error of integrals that rows have of their own.
std::vector<double> density_scores(const DensityModel& model, const Points& x,
                                   const std::optional<LogZEstimate>& log_z = std::nullopt,
                                   double precision = DensityEvaluationOptions{}.precision);

// The same of rows of `data`, with the masses of those that have intervals.
struct RowScores {
  std::vector<double> log_p;
  uint64_t intervals = 0, doubtful_intervals = 0;
  double largest_error = 0;  // of a log-mass
  double line_error = 0;     // the largest of the integrals that rows have of their own

  void note(const RowScores& more);  // of all of them, all but the scores
};
class DensityScorer {
 public:
  // Keeps references.
  DensityScorer(const DensityModel& model, const PointSource& data, std::optional<LogZEstimate> log_z = {},
                double precision = DensityEvaluationOptions{}.precision);

  RowScores operator()(std::span<const uint64_t> rows) const;
  RowScores all() const;

 private:
  const DensityModel& model_;
  const PointSource& data_;
  std::optional<LogZEstimate> log_z_;
  double precision_;
  std::optional<IntervalMeasure> measure_;
};

// The simple densities that a trained one has to beat (audit/simple_model.h).

// The best on the rows held out of: the proposal; a Gaussian mixture (real, up to 50 columns); a mixture of
// products of categoricals (levels). Both lists of rows are of `data` and not empty.
SimpleModel simple_density(const DensityModel& model, const PointSource& data,
                           std::span<const uint64_t> train_rows, std::span<const uint64_t> held_out,
                           uint64_t seed);

}  // namespace selfnorm
