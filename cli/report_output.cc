#include "report_output.h"

#include <fmt/format.h>

#include <filesystem>

#include "output.h"
#include "report_page.h"
#include "selfnorm/base/atomic_file.h"
#include "selfnorm/base/error.h"
#include "selfnorm/report/page.h"
#include "selfnorm/report/source.h"

namespace selfnorm::cli {
namespace {

namespace fs = std::filesystem;

// Where an audit's page and data go.
struct AuditPlace {
  std::string run;  // empty: there is none
  std::string data, page;
};

// The run that a model is the result of; empty when there is none.
std::string run_of(const std::string& model) {
  const fs::path path = fs::absolute(model);
  const fs::path run = fs::is_directory(path) ? path : path.parent_path();
  const bool is_its_model = fs::is_directory(path) || path.filename() == kModelName;
  return is_its_model && fs::exists(run / kRecordName) ? fs::proximate(run).string() : "";
}

AuditPlace audit_place(const std::string& asked, const std::string& model) {
  if (!asked.empty()) return {"", fs::path(asked).replace_extension(".json").string(), asked};
  const std::string run = run_of(model);
  if (run.empty()) return {"", kReportData, kReportPage};
  return {run, run + "/" + kAuditData, run + "/" + kReportPage};
}

void write_file(const std::string& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

void write_audit(const AuditPlace& place, const ReportDocument& document) {
  check_page_path(place.page);
  check_document_path(place.data);
  write_file(place.data, document_text(document) + "\n");
  write_page(place.page, place.run.empty() ? document : read_report(place.run));
}

}  // namespace

std::string write_run_report(const Arguments& arguments, const RunDirectory& run,
                             const ReportDocument& document) {
  try {
    write_file(run.file(kReportData), document_text(document) + "\n");
    if (arguments.run().no_report) return "";
    const std::string page = run.file(kReportPage);
    check_page_path(page);
    write_page(page, read_report(run.path()));
    return page;
  } catch (const Error& error) {
    warning(fmt::format("no report: {}", error.what()));
    return "";
  }
}

std::string write_audit_report(const Arguments& arguments, const std::string& model,
                               const ReportDocument& document) {
  if (arguments.audit.no_report) return "";
  const AuditPlace place = audit_place(arguments.audit.report, model);
  if (!arguments.audit.report.empty()) {
    write_audit(place, document);
    return place.page;
  }
  try {
    write_audit(place, document);
    return place.page;
  } catch (const Error& error) {
    warning(fmt::format("no report: {}; --report FILE writes it elsewhere, --no-report none", error.what()));
    return "";
  }
}

void add_report(const ReportDocument& document, const std::string& page, nlohmann::ordered_json& json) {
  json["page"] = page.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(page);
  json["report"] = nlohmann::ordered_json::parse(document_text(document));
}

std::string page_line(const std::string& page) {
  return page.empty() ? "" : fmt::format("report       {}\n", page);
}

}  // namespace selfnorm::cli
