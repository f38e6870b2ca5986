// How far the log-probabilities a model gives without normalising can be trusted, measured on held-out inputs
// with the exact log-normalizer of each. The quantity audited is the error of a log-probability,
//     e(x) = A(x) - c            raw scores,
//     e(x) = A(x) - c - b(x)     amortised scores,
// so 0 everywhere means that scores are log-probabilities. One pass; memory does not grow with the number of
// inputs (for models with more than kLargestRegression features, analysis/gauge.h, by one number per input).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "selfnorm/analysis/evaluation.h"
#include "selfnorm/data/example_source.h"

namespace selfnorm {

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

// theory.md 4: with this confidence, at least a fraction 1 - rho of inputs have |e| <= eps, provided that the
// audited inputs are independent draws that had no part in making the model.
struct Certificate {
  double eps = 0, rho = 0, confidence = 0;
  uint64_t n = 0, exceed = 0;          // inputs, and those with |e| > eps
  double rho_bound = 1;                // the smallest rho that holds at eps (Clopper-Pearson)
  std::optional<double> smallest_eps;  // that holds at rho; none when n is too small for any
  bool certified = false;              // rho_bound <= rho
};

struct HistogramBin {
  double from = 0, to = 0;  // the outermost bins take what lies beyond them
  uint64_t count = 0;
};

struct WorstInput {
  uint64_t example = 0;  // in the data, from 0
  double error = 0;      // e(x)
};

// What labels add. The expected calibration error is of the most likely output, in 15 bins of equal width:
// sum over bins of share |accuracy - mean probability|; probabilities beyond 1 count in the last bin as they
// are.
struct LabelledAudit {
  double nll_raw = 0;                   // mean of c - s_y: what a user of raw scores sees
  std::optional<double> nll_amortised;  // mean of c + b - s_y, when that is what is audited
  double nll_exact = 0;                 // mean of A - s_y
  double accuracy = 0;
  double ece = 0;        // of the audited probabilities
  double ece_exact = 0;  // of the normalised ones
};

struct Audit {
  uint64_t n = 0;
  uint64_t classes = 0;                              // joint: the largest group
  LogZStatistics log_z;                              // of e
  std::vector<std::pair<double, double>> quantiles;  // (q, value) of e
  bool exact_quantiles = true;                       // analysis/quantiles.h
  std::vector<HistogramBin> histogram;
  std::vector<WorstInput> worst;          // largest |e| first
  double above_one = 0;                   // share of inputs whose best output gets a "probability" above 1
  double kl_uniform = 0;                  // mean KL(p(.|x) || uniform)
  double variance = 0;                    // V = Var A
  std::optional<double> v_star;           // V*: what is left of it after the lossless gauge (theory.md 1.5)
  std::optional<double> v_star_adjusted;  // V* n / (n - 1 - rank): corrected for what the fit takes from n
                                          // inputs; none when there are no more inputs than directions
  std::optional<LabelledAudit> labelled;
  Certificate certificate;
};

Audit audit(const ModelFile& model, const ExampleSource& source, const AuditOptions& options,
            const std::function<void(uint64_t)>& progress = {});

}  // namespace selfnorm
