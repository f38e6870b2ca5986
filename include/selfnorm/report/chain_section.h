// What is shown of a chain on sentences: cards with the certificate; the section "Normalisation" (errors of
// log-probabilities of labellings, log Z against length), and with labels "Spans" (precision and recall by
// type).
#pragma once

#include <string>

#include "selfnorm/analysis/chain_audit.h"
#include "selfnorm/report/document.h"
#include "selfnorm/report/rows_part.h"

namespace selfnorm {

struct ShownChain {
  const ChainModel& model;
  const ChainAudit& errors;
  const ChainEvaluation* evaluation;  // of the same sentences; null: they have no labels
  std::string kind;                   // of log-probabilities: "raw", "amortised"
  std::string data;                   // what was read
  RowsPart part = RowsPart::kNone;
};

void add_chain(const ShownChain& shown, ReportDocument& document);

// log Z by length at a stage of normalisation.
struct LengthState {
  std::string name;  // "before", ...
  const std::vector<LengthLevel>& levels;
};
// Beside what add_chain made of the last state: the figure log_z_by_length_states, rms of a sentence and a
// token, a line a state.
void add_length_states(const std::vector<LengthState>& states, ReportDocument& document);

}  // namespace selfnorm
