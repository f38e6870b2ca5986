// The figures and tables of an audit, one function each.
#pragma once

#include <optional>
#include <string>

#include "document/section/audit_section.h"

namespace selfnorm {

// Of the errors e of any model.
struct ErrorNames {
  std::string kind;   // of log-probabilities: "raw", "amortised"
  std::string error;  // e in a column: "log Z - c", ...
  std::string axis;   // e in full
};

ReportFigure error_histogram(const ErrorAudit& audit, const ErrorNames& names);
ReportTable quantile_table(const ErrorAudit& audit, const ErrorNames& names);
ReportTable worst_table(const ErrorAudit& audit, const ErrorNames& names);

// Of what a model says of inputs: e against the norm of the input and against the exact probability of its
// best output; audited against exact probability, of the true outputs where all have one, else of the best.
std::optional<double> only_norm(const Audit& audit);  // that all inputs have, as unit vectors
ReportFigure error_by_norm(const Audit& audit, const ErrorNames& names, const std::string& norm);
ReportFigure error_by_confidence(const Audit& audit, const ErrorNames& names);
ReportFigure audited_by_exact(const Audit& audit, const ErrorNames& names);
ReportTable worst_table(const Audit& audit, const ErrorNames& names, const AuditNames& of);

// Share of correct best outputs against their mean probability, a mark a bin that has inputs; its error is
// the standard deviation of a share of which k of n were seen, that of Beta(k + 1, n - k + 1).
ReportFigure reliability(const LabelledAudit& labelled, const ErrorNames& names);
// Share of inputs answered, and of correct ones among them, when outputs of a lower exact probability are
// rejected.
ReportFigure rejection(const LabelledAudit& labelled);
// Precision and recall of classes, the most frequent first; the pairs that are confused most.
ReportTable class_table(const Confusion& confusion, const AuditNames& names);
ReportTable confusion_table(const Confusion& confusion, const AuditNames& names);

}  // namespace selfnorm
