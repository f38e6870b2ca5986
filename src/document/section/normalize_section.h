// What the normalisation of a head did to its log-normalizers, state by state.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "audit/error_audit.h"
#include "document/document.h"

namespace selfnorm {

// The model at a stage of the work, audited on the same inputs.
struct NormalizationState {
  std::string name;  // "before", "lossless", ...
  const ErrorAudit* audit = nullptr;
  // Columns of the table where all states have them.
  std::optional<double> rms_per_token, nll_exact;
};

// Into what add_audit made of the last state: the states before it are lines over the bars of the figure
// log_z_histogram, whose axis takes them in; and a table "Step by step", a row a state.
void add_states(const std::vector<NormalizationState>& states, ReportDocument& document);

}  // namespace selfnorm
