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

#include "selfnorm/analysis/error_audit.h"
#include "selfnorm/data/example_source.h"

namespace selfnorm {

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

struct Audit : ErrorAudit {
  uint64_t n = 0;
  uint64_t classes = 0;                   // joint: the largest group
  double above_one = 0;                   // share of inputs whose best output gets a "probability" above 1
  double kl_uniform = 0;                  // mean KL(p(.|x) || uniform)
  double variance = 0;                    // V = Var A
  std::optional<double> v_star;           // V*: what is left of it after the lossless gauge (theory.md 1.5)
  std::optional<double> v_star_adjusted;  // V* n / (n - 1 - rank): corrected for what the fit takes from n
                                          // inputs; none when there are no more inputs than directions
  std::optional<LabelledAudit> labelled;
};

Audit audit(const ModelFile& model, const ExampleSource& source, const AuditOptions& options,
            const std::function<void(uint64_t)>& progress = {});

}  // namespace selfnorm
