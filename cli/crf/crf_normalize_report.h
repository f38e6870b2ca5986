// What `selfnorm normalize` did to a CRF, as JSON, as text and on a page.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "classifier/normalize_report.h"
#include "family/crf/crf_evaluation.h"

namespace selfnorm::cli {

// A CRF at a stage of the work, as stored, on the held-out sentences.
struct CrfState {
  CrfAudit audit;                           // of A - b, where there is a b
  CrfLevels raw;                            // of A
  std::optional<CrfEvaluation> evaluation;  // where they have labels
};

// One of two steps: lossless moves weights, amortised fits b(x) to A of the model as it is.
struct CrfNormalizeReport : NormalizedInputs {
  CrfState before, after;
  std::optional<LosslessStep> lossless;
  std::optional<double> rms_fitted;  // amortised: of A - b on the sentences b is fitted to
};

// The keys of normalize_json, and the same a token and by length; "nll_amortised" where there is a b.
nlohmann::ordered_json crf_normalize_json(const CrfNormalizeReport& report);
std::string crf_normalize_text(const CrfNormalizeReport& report);
// `model` as it is written.
ReportDocument crf_normalize_document(const CrfNormalizeReport& report, const CrfModel& model,
                                      const NormalizePlaces& places);
// What the model itself says of the held-out sentences; is_amortised: it has a b(x).
std::string normalized_crf_audit(const CrfState& last, bool is_amortised);

}  // namespace selfnorm::cli
