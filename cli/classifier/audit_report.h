// An Audit as JSON and as text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "audit/audit.h"
#include "audit/rung_certificate.h"
#include "document/section/audit_section.h"
#include "grammar/arguments.h"
#include "run/report_output.h"

namespace selfnorm::cli {

// With --require in them; throws Error for values out of range.
AuditOptions audit_options(const AuditArguments& given);

// Where the page goes, what part the rows had in the model, and what was certified of them.
struct AuditedRows {
  AuditPlace place;
  RowsPart part;
  const Certificate& certificate;
  std::vector<RungDrift> drift = {};  // of the model's ladder, with --sample
};
// As many inputs as --sample asks for, in their order; none without it.
std::vector<uint64_t> sampled_inputs(const AuditArguments& given, uint64_t inputs);
// The document of an audit, with nothing but its name.
ReportDocument audit_heading(const std::string& model, const std::string& data);
// Puts the audit out, with "trained" or "chose_step", true, when so, and with what is said of the ladder. The
// exit code: 3 where what --require asks for does not hold, or a certificate of the ladder no longer does.
int end_audit(const Arguments& arguments, const AuditedRows& rows, const ReportDocument& document,
              AuditWords words);

// Of the errors of any model's log-probabilities: {"log_z", "histogram"}, and {"certificate", "rho_bound",
// "smallest_eps", "worst"}.
Json errors_json(const ErrorAudit& audit);
Json certified_json(const ErrorAudit& audit);
// Statistics, quantiles and, in one line, the histogram with the certified band, indented. Inputs that were
// trained on have no band.
std::string errors_text(const ErrorAudit& audit, RowsPart part);
std::string certificate_text(const Certificate& certificate);
// The certificate, also in words, or why inputs of this part have none, and the worst inputs; `kind` as in
// AuditNames.
std::string certified_text(const ErrorAudit& audit, const std::string& kind, RowsPart part);

// {"variance", "v_star", "v_star_adjusted"}, and the same in a line.
Json variance_json(const GaugeVariance& variance);
std::string variance_text(const GaugeVariance& variance);

// Of DATA in MODEL (run/run_record.h). Warns when --require asks about data that the model was trained on.
RowsPart audited_part(const AuditArguments& given);

Json audit_json(const Audit& audit);
std::string audit_text(const Audit& audit, const AuditNames& names);

}  // namespace selfnorm::cli
