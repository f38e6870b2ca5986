// What `selfnorm normalize` did to a chain, as JSON, as text and on a page.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "normalize_document.h"
#include "selfnorm/analysis/chain_audit.h"

namespace selfnorm::cli {

// A chain at a stage of the work, as stored, on the held-out sentences.
struct ChainState {
  ChainAudit audit;                           // of A - b, where there is a b
  ChainLevels raw;                            // of A
  std::optional<ChainEvaluation> evaluation;  // where they have labels
};

// One of two steps: lossless moves weights, amortised fits b(x) to A of the model as it is.
struct ChainNormalizeReport : NormalizedInputs {
  ChainState before, after;
  std::optional<LosslessStep> lossless;
  std::optional<double> rms_fitted;  // amortised: of A - b on the sentences b is fitted to
};

// The keys of normalize_json, and the same a token and by length; "nll_amortised" where there is a b.
nlohmann::ordered_json chain_normalize_json(const ChainNormalizeReport& report);
std::string chain_normalize_text(const ChainNormalizeReport& report);
// `model` as it is written.
ReportDocument chain_normalize_document(const ChainNormalizeReport& report, const ChainModel& model,
                                        const NormalizePlaces& places);
// What the model itself says of the held-out sentences; is_amortised: it has a b(x).
std::string normalized_chain_audit(const ChainState& last, bool is_amortised);

}  // namespace selfnorm::cli
