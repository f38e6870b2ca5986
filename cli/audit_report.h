// An Audit as JSON and as text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "selfnorm/analysis/audit.h"

namespace selfnorm::cli {

nlohmann::ordered_json audit_json(const Audit& audit);
std::string audit_text(const Audit& audit, bool amortised);

}  // namespace selfnorm::cli
