// What is shown of a CRF on sentences: cards with the certificate; the section "Normalisation" (errors of
// log-probabilities of labellings, log Z against length), and with labels "Spans" (recall, precision).
#pragma once

#include <string>

#include "document/document.h"
#include "document/section/audit_section.h"
#include "family/crf/crf_evaluation.h"

namespace selfnorm {

struct ShownCrf {
  const CrfModel& model;
  const CrfAudit& errors;
  const CrfEvaluation* evaluation;  // of the same sentences; null: they have no labels
  std::string kind;                 // of log-probabilities: "raw", "amortised"
  std::string data;                 // what was read
  RowsPart part = RowsPart::kNone;
};

void add_crf(const ShownCrf& shown, ReportDocument& document);

// log Z by length at a stage of normalisation.
struct LengthState {
  std::string name;  // "before", ...
  const std::vector<LengthLevel>& levels;
};
// Beside what add_crf made of the last state: log_z_by_length_states, rms of a sentence and a token.
void add_length_states(const std::vector<LengthState>& states, ReportDocument& document);

}  // namespace selfnorm
