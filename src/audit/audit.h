// How far the log-probabilities a model gives without normalising can be trusted, measured on held-out inputs
// with the exact log-normalizer of each. The quantity audited is the error of a log-probability,
//     e(x) = A(x) - c            raw scores,
//     e(x) = A(x) - c - b(x)     amortised scores,
// so 0 everywhere means that scores are log-probabilities. One pass; memory does not grow with the number of
// inputs (for models with more than kLargestRegression features, audit/gauge.h, by one number per input).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "audit/confusion.h"
#include "audit/error_audit.h"
#include "audit/gauge.h"
#include "data/example_source.h"

namespace selfnorm {

// Of the inputs whose best output has a probability in [from, to); the last bin takes what lies beyond 1.
struct CalibrationBin {
  double from = 0, to = 0;
  uint64_t count = 0;
  double confidence = 0, accuracy = 0;  // means; 0 without inputs
};

// What labels add. The expected calibration error is of the most likely output, in 15 bins of equal width:
// sum over bins of share |accuracy - mean probability|; probabilities beyond 1 count in the last bin as they
// are. Inputs whose label the model has not seen count as wrong and are left out of the means of likelihood.
struct LabelledAudit {
  uint64_t unseen = 0;
  double nll_raw = 0;                   // mean of c - s_y: what a user of raw scores sees
  std::optional<double> nll_amortised;  // mean of c + b - s_y, when that is what is audited
  double nll_exact = 0;                 // mean of A - s_y
  double accuracy = 0;
  double ece = 0;                                          // of the audited probabilities
  double ece_exact = 0;                                    // of the normalised ones
  std::vector<CalibrationBin> bins = {}, bins_exact = {};  // of the same
  Confusion confusion = {};                                // not of groups of alternatives
};

// One input as pictures show it. Outputs are classes; joint: positions in the group.
struct AuditedInput : WorstInput {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

  double norm = 0;                 // |x|, or |h(x)|; joint: root mean square of the alternatives
  double best_exact = 0;           // s_best - A(x)
  double target_exact = kUnknown;  // s_y - A(x); NaN without a target
  uint64_t best = 0;
  uint32_t target = Dataset::kNoTarget;
  bool is_correct = false;

  // The log-probabilities that are audited: s - c [- b(x)] = s - A(x) + e(x).
  double best_audited() const { return best_exact + error; }
  double target_audited() const { return target_exact + error; }
};

struct Audit : ErrorAudit, GaugeVariance {
  uint64_t n = 0;
  uint64_t classes = 0;   // joint: the largest group
  double above_one = 0;   // share of inputs whose best output gets a "probability" above 1
  double kl_uniform = 0;  // mean KL(p(.|x) || uniform)
  std::optional<LabelledAudit> labelled;
  std::vector<AuditedInput> sample;  // audit/stream.h: inputs 0, stride, 2 stride, ...
  uint64_t sample_stride = 1;
  std::vector<AuditedInput> worst_inputs;  // those of `worst`
};

Audit audit(const ModelFile& model, const ExampleSource& source, const AuditOptions& options,
            const std::function<void(uint64_t)>& progress = {});

}  // namespace selfnorm
