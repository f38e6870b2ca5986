// Documents from what commands left behind.
#pragma once

#include <string>

#include "document/document.h"

namespace selfnorm {

inline constexpr const char* kReportData = "report.json";  // of a run: what training had to show
inline constexpr const char* kAuditData = "audit.json";    // of a run: what its last audit had to show
inline constexpr const char* kReportPage = "report.html";

// `path` is a run directory (config.json; finished, interrupted or running), a folder that `selfnorm
// reproduce` wrote, or a JSON file: a document, or an object that has one under "report". Throws Error saying
// what was found and what was expected.
ReportDocument read_report(const std::string& path);

}  // namespace selfnorm
