// report.json and report.html of the commands that write them by themselves.
#pragma once

#include <string>

#include "arguments.h"
#include "run_directory.h"
#include "selfnorm/report/document.h"

namespace selfnorm::cli {

// Of a finished run: report.json and, unless --no-report, report.html with the curves of its metrics. What
// cannot be written is a warning, for the model is there. The path of the page, or empty.
std::string write_run_report(const Arguments& arguments, const RunDirectory& run,
                             const ReportDocument& document);

// Of an audit of `model` as it was given: into its run, beside what training wrote, or audit.json and
// report.html into the current folder; --report FILE and --no-report. The path of the page, or empty.
std::string write_audit_report(const Arguments& arguments, const std::string& model,
                               const ReportDocument& document);

// Into what --json prints: "page" (null when none was written) and "report", the document.
void add_report(const ReportDocument& document, const std::string& page, nlohmann::ordered_json& json);
// "report       PATH", or nothing.
std::string page_line(const std::string& page);

}  // namespace selfnorm::cli
