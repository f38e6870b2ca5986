// report.json and report.html of the commands that write them by themselves.
#pragma once

#include <functional>
#include <string>

#include "document/document.h"
#include "grammar/arguments.h"
#include "run/run_directory.h"

namespace selfnorm::cli {

// What is not ours is not written over unless it was named: these throw Error when there is a file that is
// not a page, or not the data of one.
void check_page_path(const std::string& path);
void check_document_path(const std::string& path);

void write_page(const std::string& path, const ReportDocument& document);

// Of a finished run: report.json and, unless --no-report, report.html with the curves of its metrics. What
// cannot be made or written is a warning, whatever the reason: the model is there, and its evaluation is yet
// to be printed. The path of the page, or empty.
std::string write_run_report(const Arguments& arguments, const RunDirectory& run,
                             const std::function<ReportDocument()>& document);

// The document of a finished run, with nothing but its name and, where it diverged, a note.
ReportDocument run_heading(const Arguments& arguments, const RunDirectory& run, bool diverged);

// Where the page of an audit and its data go.
struct AuditPlace {
  std::string run = "";              // whose page it joins; empty: a page of its own
  std::string data = "", page = "";  // empty: none is written
  bool is_asked_for = false;         // by --report
};

// Into the run of MODEL, beside what training wrote, or report.json and report.html into the current folder;
// --report FILE and --no-report. Throws Error, before there is an audit to lose, when FILE or its data cannot
// be written.
AuditPlace audit_place(const AuditArguments& given);

// An audit as --json prints it and as text.
struct AuditWords {
  Json json;
  std::string text;
};

// Prints the audit, and writes its page, with the worst inputs as they are written and a hash of the data:
// its path is the last line of the text, and "page" of the JSON (null when there is none), beside "report",
// the document. A page that cannot be written is a warning; one that was asked for throws Error, after the
// audit was printed.
void put_out_audit(const Arguments& arguments, const AuditPlace& place, ReportDocument document,
                   AuditWords words);

}  // namespace selfnorm::cli
