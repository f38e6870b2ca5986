// What is shown of a chain on sentences: cards with the certificate; the section "Normalisation" (errors of
// log-probabilities of labellings), and with labels log Z against length and "Spans" (precision and recall by
// type).
#pragma once

#include <string>

#include "selfnorm/analysis/chain_evaluation.h"
#include "selfnorm/analysis/error_audit.h"
#include "selfnorm/report/document.h"
#include "selfnorm/report/rows_part.h"

namespace selfnorm {

struct ShownChain {
  const ChainModel& model;
  const ErrorAudit& errors;           // of analysis/chain_audit.h
  const ChainEvaluation* evaluation;  // of the same sentences; null: they have no labels
  std::string kind;                   // of log-probabilities: "raw", "amortised"
  std::string data;                   // what was read
  RowsPart part = RowsPart::kNone;
};

void add_chain(const ShownChain& shown, ReportDocument& document);

}  // namespace selfnorm
