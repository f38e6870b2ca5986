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
  ChainAudit audit;
  std::optional<ChainEvaluation> evaluation;  // where they have labels
};

struct ChainNormalizeReport : LosslessStep {
  ChainState before, lossless;
  std::optional<ChainState> amortised;
  double rms_fitted = 0;  // of A - b on the sentences b is fitted to

  const ChainState& last() const { return amortised ? *amortised : lossless; }
};

// The keys of normalize_json, and the same a token and by length.
nlohmann::ordered_json chain_normalize_json(const ChainNormalizeReport& report);
std::string chain_normalize_text(const ChainNormalizeReport& report);
// `model` as it is written.
ReportDocument chain_normalize_document(const ChainNormalizeReport& report, const ChainModel& model,
                                        const NormalizePlaces& places);
// What the model itself says of the held-out sentences.
std::string normalized_chain_audit(const ChainState& last);

}  // namespace selfnorm::cli
