// What is said of the errors e(x) of log-probabilities that a model gives without normalising, whatever the
// model is: statistics, quantiles, histogram, the worst inputs and the certificate. One pass; memory does not
// grow with the number of inputs.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "audit/evaluation.h"
#include "audit/stream.h"

namespace selfnorm {

class OptionTable;

struct AuditOptions {
  double eps = 0.1;          // certify |e| <= eps ..., > 0
  double rho = 0.01;         // ... for all but a fraction rho of inputs, in (0, 1)
  double confidence = 0.99;  // in (0, 1)
  bool amortised = false;    // audit raw_k - b(x); the model must have b
  bool with_v_star = true;   // which takes a regression on all features
  uint32_t bins = 20;        // of the histogram, >= 1
  uint32_t worst = 10;       // inputs to list

  void validate() const;  // throws Error naming the option, the value and the range
};
OptionTable audit_option_table(AuditOptions& options);

// theory.md 4: with this confidence, at least a fraction 1 - rho of inputs have |e| <= eps, provided that the
// audited inputs are independent draws that had no part in making the model.
struct Certificate {
  double eps = 0, rho = 0, confidence = 0;
  uint64_t n = 0, exceed = 0;  // inputs, and those with |e| + doubt > eps
  double rho_bound = 1;        // the smallest rho that holds at eps (Clopper-Pearson)
  // That holds at rho; none when n is too small, or doubt too large, for any.
  std::optional<double> smallest_eps = std::nullopt;
  bool certified = false;  // rho_bound <= rho

  // The fewest inputs that certify any eps at rho, none of which exceeds it: (1 - rho)^n <= 1 - confidence.
  uint64_t inputs_needed() const;
};

// From n independent held-out inputs of which `exceed` have |A - c| > eps, with confidence 1 - beta at most a
// fraction rho of all inputs exceed eps. rho is the one-sided Clopper-Pearson bound: the largest p with
// P(Binomial(n, p) <= exceed) >= beta, the upper beta quantile of Beta(exceed + 1, n - exceed); 1 when
// exceed = n. confidence in (0, 1), n >= 1.
double clopper_pearson_upper(uint64_t exceed, uint64_t n, double confidence);

// The largest number of exceedances among n with clopper_pearson_upper(k, n, confidence) <= rho; -1 when even
// none is too many (n is too small). rho in (0, 1). The smallest eps that can be certified is then the
// (k+1)-th largest |A - c|.
int64_t largest_certifiable_count(uint64_t n, double rho, double confidence);

struct HistogramBin {
  double from = 0, to = 0;  // the outermost bins take what lies beyond them
  uint64_t count = 0;
};

struct ErrorAudit {
  LogZStatistics log_z;                              // of e
  std::vector<std::pair<double, double>> quantiles;  // (q, value) of e
  bool exact_quantiles = true;                       // audit/stream.h
  std::vector<HistogramBin> histogram;
  std::vector<WorstInput> worst;  // largest |e| first
  Certificate certificate;
};

class ErrorAuditor {
 public:
  explicit ErrorAuditor(const AuditOptions& options);  // throws Error for options out of range

  // e(x), finite, known up to `doubt` >= 0, which may be infinite: it exceeds eps when |e| + doubt does.
  void add(uint64_t example, double error, double doubt = 0);
  uint64_t count() const { return moments_.n; }
  ErrorAudit finish();  // of at least one error, once

 private:
  AuditOptions options_;
  RunningVariance moments_;
  Quantiles errors_, sizes_;
  WorstInputs<WorstInput> worst_;
  double smallest_ = 0, largest_ = 0;
  uint64_t exceed_ = 0;
};

}  // namespace selfnorm
