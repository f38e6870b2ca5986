// How good a regressor is on data with known targets. NLL exact comes from A(x) by quadrature, NLL with b
// from b(x). The error of a log-density that is given without normalising is audited like any other
// (audit/error_audit.h), certificate included: with log p^ that of b,
//     e = log p^(y|x) - log p(y|x) = A(x) - b(x)                               one member
//     e = log mean_m exp(s_m - b_m) - log mean_m exp(s_m - A_m) at the target   ensembles
// where a target without a density stands for any y: e = log mean_m exp(A_m - b_m). A regressor without a
// tilt is normalised: A = b = e = 0 exactly. The error of A is a doubt about e, which the certificate counts.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "audit/error_audit.h"
#include "family/regressor/predictive.h"

namespace selfnorm {

struct RegressionEvaluationOptions {
  ConditionalQuadratureOptions quadrature = {};
  AuditOptions audit = {};  // eps, rho, confidence, bins, worst
  uint32_t pit_bins = 20;   // >= 1
  // Upper ends of targets that are intervals (data/table/target_ends.h), y being the lower ones; empty: all
  // are numbers. NLL is then that of masses, and the rest is about targets that are numbers alone.
  std::span<const double> high = {};
};

struct Coverage {
  double level = 0;
  double central = 0, highest_density = 0;              // share of targets inside
  double central_width = 0, highest_density_width = 0;  // mean
};

// Of one coordinate of y.
struct CoordinateEvaluation {
  double rmse = 0, mae = 0;  // of the mean; of the median
  double crps = 0, crps_error = 0;
  std::vector<uint64_t> pit;       // histogram of F(y|x) over [0, 1]
  double pit_deviation = 0;        // Kolmogorov-Smirnov distance from uniform
  std::vector<Coverage> coverage;  // 50, 80, 90, 95%
};

// The audit is that of e(x).
struct RegressionEvaluation : ErrorAudit {
  uint64_t rows = 0;
  uint64_t members = 1;           // what e is: above
  uint64_t outside = 0;           // targets outside the support: then nll is +inf
  uint64_t intervals = 0;         // targets of which an interval is known
  uint64_t zero_density = 0;      // targets inside it whose density is 0: then nll is +inf
  double nll = 0, nll_error = 0;  // exact, and the standard error of its mean over rows with a density
  double nll_b = 0;               // with b(x)
  double quadrature_error = 0;    // largest error of A
  uint64_t imprecise = 0;         // rows whose error of A is larger than the precision asked for
  double tail = 0;                // largest mass beyond a region
  std::vector<CoordinateEvaluation> coordinates;
  std::vector<double> pit, b, a;  // of every row (first coordinate, first member), for pictures
};

// "90% intervals of y hold 98.1% of 500 targets, ...", of the level and target that are worst, when a share
// of the targets is more than 5 points, and than chance explains, away from that of its central intervals;
// otherwise empty.
std::string coverage_doubt(const RegressionEvaluation& evaluation, const std::vector<std::string>& targets);

// y in the units of the data, row-major. In blocks of rows; `progress` is told how many are done. Throws
// Error for data without rows, of other columns, targets that are not finite, and scores or b that are NaN.
RegressionEvaluation evaluate_regressor(const Regressor& model, const InputRows& x, std::span<const double> y,
                                        const RegressionEvaluationOptions& options,
                                        const std::function<void(uint64_t)>& progress = {});

// e(x) = A(x) - b(x) of a regressor of one member, audited like any log-normalizer (audit/error_audit.h):
// it is a matter of the inputs, and needs no targets. That of an ensemble depends on the target:
// family/regressor/regression_evaluation.h.
struct NormalizerAudit : ErrorAudit {
  uint64_t rows = 0;
  double quadrature_error = 0;  // largest error of A
  uint64_t imprecise = 0;       // rows whose error of A is larger than the precision asked for
};

// In blocks of rows; `progress` is told how many are done. Throws Error for an ensemble and data without
// rows.
NormalizerAudit audit_normalizer(const Regressor& model, const InputRows& x,
                                 const RegressionEvaluationOptions& options,
                                 const std::function<void(uint64_t)>& progress = {});

}  // namespace selfnorm
