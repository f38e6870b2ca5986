// An Audit as JSON and as text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "selfnorm/analysis/audit.h"
#include "selfnorm/report/audit_section.h"

namespace selfnorm::cli {

inline constexpr int kNotCertified = 3;  // exit code: what --require asks for does not hold

// Of the errors of any model's log-probabilities: {"log_z", "histogram"}, and {"certificate", "rho_bound",
// "smallest_eps", "worst"}.
nlohmann::ordered_json errors_json(const ErrorAudit& audit);
nlohmann::ordered_json certified_json(const ErrorAudit& audit);
// Statistics, quantiles and, in one line, the histogram with the certified band, indented.
std::string errors_text(const ErrorAudit& audit);
std::string certificate_text(const Certificate& certificate);
// The certificate, also in words, and the worst inputs; `kind` as in AuditNames.
std::string certified_text(const ErrorAudit& audit, const std::string& kind);

nlohmann::ordered_json audit_json(const Audit& audit);
std::string audit_text(const Audit& audit, const AuditNames& names);

}  // namespace selfnorm::cli
