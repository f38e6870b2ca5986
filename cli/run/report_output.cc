#include "run/report_output.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/atomic_file.h"
#include "base/failure.h"
#include "document/document.h"
#include "math/process/communicator.h"
#include "output.h"
#include "page/page.h"
#include "run/run_record.h"
#include "run/shown_rows.h"
#include "version.h"

namespace selfnorm::cli {
namespace {

namespace fs = std::filesystem;

// "X.JSON" too: on some systems it is the same file.
bool is_json(const fs::path& path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return std::tolower(c); });
  return extension == ".json";
}

void check_audit_paths(const AuditPlace& place) {
  check_page_path(place.page);
  check_document_path(place.data);
}

Error report_error(const AuditPlace& place, const Error& error) {
  return Error(fmt::format("--report {}: {}", place.page, error.what()));
}

// The path of the page, or empty after a warning.
std::string write_audit(const AuditPlace& place, const ReportDocument& document) {
  if (place.page.empty() || !is_first_process()) return "";
  try {
    check_audit_paths(place);
    AtomicFile::write_file(place.data, document_text(document) + "\n");
    write_page(place.page, place.run.empty() ? document : read_report(place.run));
    return place.page;
  } catch (const Error& error) {
    if (place.is_asked_for) throw report_error(place, error);
    warning(fmt::format("no report: {}; --report FILE writes it elsewhere, --no-report none", error.what()));
    return "";
  }
}

}  // namespace

void check_page_path(const std::string& path) {
  if (!is_page_or_absent(path))
    throw_error("{} is there and is not a page of selfnorm, so it is left as it is", path);
}

void check_document_path(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return;
  constexpr std::string_view beginning = "{\"format\":";
  std::string found(beginning.size(), '\0');
  in.read(found.data(), static_cast<std::streamsize>(found.size()));
  if (found != beginning)
    throw_error("{} is there and is not the data of a report, so it is left as it is", path);
}

void write_page(const std::string& path, const ReportDocument& document) {
  AtomicFile::write_file(path, page_html(document, kVersion));
}

ReportDocument run_heading(const Arguments& arguments, const RunDirectory& run, bool diverged) {
  ReportDocument out{.name = run.path(),
                     .command = arguments.command,
                     .title = fmt::format("{}: {}", arguments.command, run.path())};
  if (diverged) out.notes.push_back("Training diverged.");
  return out;
}

std::string write_run_report(const Arguments& arguments, const RunDirectory& run,
                             const std::function<ReportDocument()>& document) {
  try {
    check_document_path(run.file(kReportData));
    AtomicFile::write_file(run.file(kReportData), document_text(document()) + "\n");
    if (arguments.run().no_report) return "";
    std::string page = run.file(kReportPage);
    check_page_path(page);
    write_page(page, read_report(run.path()));
    return page;
  } catch (const std::exception& error) {
    warning(fmt::format("no report: {}", error.what()));
    return "";
  }
}

AuditPlace audit_place(const AuditArguments& given) {
  if (given.no_report) return {};
  if (given.report.empty()) {
    const std::string run = run_of_model(given.model);
    if (run.empty()) return {.data = kReportData, .page = kReportPage};
    return {.run = run, .data = run + "/" + kAuditData, .page = run + "/" + kReportPage};
  }
  if (is_json(given.report))
    throw_error(
        "--report {}: found a name that ends in .json, which is where the data of the page go; expected the "
        "name of the page, as {}",
        given.report, fs::path(given.report).replace_extension(".html").string());
  AuditPlace place{.data = fs::path(given.report).replace_extension(".json").string(),
                   .page = given.report,
                   .is_asked_for = true};
  try {
    check_audit_paths(place);
    const AtomicFile page(place.page), data(place.data);  // neither is committed
  } catch (const Error& error) {
    throw report_error(place, error);
  }
  return place;
}

void put_out_audit(const Arguments& arguments, const AuditPlace& place, ReportDocument document,
                   AuditWords words) {
  show_worst_rows(arguments, arguments.audit.model, document);
  if (const std::string hash = hash_of_files(arguments.audit.data); !hash.empty())
    document.cards.push_back({"data_hash", "Data hash", hash, std::nullopt, "of the file, byte for byte"});
  if (!arguments.common.json) {
    print(words.text);
    flush_output();
    const std::string page = write_audit(place, document);
    if (!page.empty()) print(fmt::format("report       {}\n", page));
    return;
  }
  std::optional<Error> failure;
  words.json["page"] = nullptr;
  try {
    const std::string page = write_audit(place, document);
    if (!page.empty()) words.json["page"] = page;
  } catch (const Error& error) {
    failure = error;
  }
  words.json["report"] = Json::parse(document_text(document));
  print_json(words.json);
  if (failure) throw *failure;
}

}  // namespace selfnorm::cli
