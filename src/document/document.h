// What a command has to show of a run, an audit, ...: cards, figures and tables. Commands write it as JSON
// (`report.json` of a run, the key "report" of what --json prints); `selfnorm report` makes a page of one or
// more of them and needs nothing else.
//
// JSON, in which numbers that are not finite are null and everything that is empty may be left out:
//   {"format": 1, "name", "command", "title", "notes": [text],
//    "cards": [{"id", "label", "value", "number", "source", "tone" ("bad": shown in red)}],
//    "sections": [{"title", "figures": [...], "tables": [...]}]}
//   figure: {"id", "title", "look", "rows",
//            "panels": [{"title", "x": axis, "y": axis, "equal_units", "series": [...],
//                        "heat": {"columns", "rows", "value", "label", "most", "scale"}}]}
//   axis:   {"label", "logarithmic", "low", "high", "ticks"}
//   series: {"name", "stroke" (the names of Stroke), "colour", "x", "y", "error", "x_end", "labels"}
//   table:  {"id", "title", "look", "columns", "rows" (numbers, texts, null)}
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "document/figure.h"
#include "document/table.h"

namespace selfnorm {

struct ReportCard {
  std::string id;                // "nll_exact": the same thing in every document
  std::string label;             // "NLL, exact"
  std::string value;             // "0.3124": as it is shown
  std::optional<double> number;  // to sort and to compare by
  std::string source;  // where a number comes from: "raw scores", "exact log Z", "b(x)", "estimate +- 0.01"
  std::string tone = {};  // "bad": something is wrong, shown in red; empty: nothing is
};

// Figures of different documents with one id are drawn into one.
struct ReportFigure {
  std::string id;
  std::string look;  // what to look for, one plain sentence
  Figure figure;
};

struct ReportTable {
  std::string id;
  std::string look;
  Table table;  // its caption is the title
};

struct ReportSection {
  std::string title;  // "Training", "Normalisation", ...; sections with one title are one section
  std::vector<ReportFigure> figures = {};
  std::vector<ReportTable> tables = {};
};

struct ReportDocument {
  std::string name;     // of the run, the model or the file: names its series in comparisons
  std::string command;  // "train classifier", "audit", ...
  std::string title;
  std::vector<std::string> notes = {};  // what the reader has to know: diverged, interrupted, not certified
  std::vector<ReportCard> cards = {};
  std::vector<ReportSection> sections = {};

  // The section with this title, which is appended when there is none.
  ReportSection& section(const std::string& title);
};

// One line of JSON.
std::string document_text(const ReportDocument& document);
// Throws Error saying where in `text` something is not as above; `where` names the file.
ReportDocument parse_document(const std::string& text, const std::string& where);

inline constexpr const char* kReportData = "report.json";  // of a run: what training had to show
inline constexpr const char* kAuditData = "audit.json";    // of a run: what its last audit had to show
inline constexpr const char* kReportPage = "report.html";

// `path` is a run directory (config.json; finished, interrupted or running), a folder that `selfnorm
// reproduce` wrote, or a JSON file: a document, or an object that has one under "report". Throws Error.
ReportDocument read_report(const std::string& path);

// One document: itself. More: names made different, a table "Compared" with a row of cards each, the
// trade-off of rms log Z and exact NLL where two or more have both, and every figure with the series of all
// documents that have it ("NAME: SERIES", one colour a document; a series that is the same in all, such as a
// diagonal, once and grey). Panels with heat, or of different things, stand side by side in rows of at most
// four. Equal notes are one.
ReportDocument compared(std::vector<ReportDocument> documents);

}  // namespace selfnorm
