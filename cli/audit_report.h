// An Audit as JSON and as text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "selfnorm/analysis/audit.h"

namespace selfnorm::cli {

inline constexpr int kNotCertified = 3;  // exit code: what --require asks for does not hold

// Of the errors of any model's log-probabilities: {"log_z", "histogram"}, and {"certificate", "rho_bound",
// "smallest_eps", "worst"}.
nlohmann::ordered_json errors_json(const ErrorAudit& audit);
nlohmann::ordered_json certified_json(const ErrorAudit& audit);
std::string errors_text(const ErrorAudit& audit);  // statistics, quantiles and histogram, indented
std::string certificate_text(const Certificate& certificate);
std::string certified_text(const ErrorAudit& audit);  // the certificate and the worst inputs

nlohmann::ordered_json audit_json(const Audit& audit);
std::string audit_text(const Audit& audit, bool amortised);

}  // namespace selfnorm::cli
