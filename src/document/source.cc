#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/json_text.h"
#include "document/document.h"
#include "document/section/training_section.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(path + ": cannot be read; expected a run directory or a JSON file");
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

json parsed(const std::string& path) {
  json out = bounded_json<json>(content(path));
  if (out.is_discarded())
    throw Error(
        path +
        ": not JSON; expected a run directory, or what train, audit, normalize or reproduce wrote as JSON");
  return out;
}

// Records are for people to read, and may have been edited.
std::string text_of(const json& object, const char* key, const std::string& otherwise) {
  return object.is_object() && object.contains(key) && object[key].is_string()
             ? object[key].get<std::string>()
             : otherwise;
}

// A run that left no report.json: interrupted, still running, or of an older version.
ReportDocument unfinished_run(const std::string& run, const json& config) {
  const std::string command = text_of(config, "command", "train classifier");
  ReportDocument out{.name = run, .command = command, .title = command};
  out.notes.push_back(fs::exists(run + "/model.safetensors")
                          ? fmt::format("The run has a model but no report of it (an older version, or "
                                        "stopped at its end); 'selfnorm audit {} DATA' adds an audit.",
                                        run)
                          : fmt::format("Training is not finished: only its curves are shown. If it was "
                                        "interrupted, 'selfnorm {} --resume --out {}' goes on.",
                                        command, run));
  if (config.contains("data"))
    out.cards.push_back({"data", "Data", text_of(config["data"], "path", "unknown"), {}, ""});
  if (config.contains("options"))
    out.cards.push_back(
        {"objective", "Objective", text_of(config["options"], "objective", "unknown"), {}, ""});
  return out;
}

// A later audit is what counts: it comes first, its cards instead of those of training, now a table.
void put_audit_first(ReportDocument audit, ReportDocument& out) {
  ReportTable before{.id = "training_end",
                     .look = "What the run itself measured, beside what the audit found on data of its own.",
                     .table = {.caption = "At the end of training", .columns = {"what", "value", "from"}}};
  for (const ReportCard& card : out.cards) before.table.add({card.label, card.value, card.source});
  for (const std::string& note : out.notes) before.look += " " + note;
  out.section("Training").tables.push_back(std::move(before));
  out.title += ", audited";
  out.cards = std::move(audit.cards);
  out.notes = std::move(audit.notes);
  for (ReportSection& section : audit.sections) section.title = "Audit: " + section.title;
  out.sections.insert(out.sections.begin(), audit.sections.begin(), audit.sections.end());
}

ReportDocument read_run(const std::string& run) {
  const json config = parsed(run + "/config.json");
  if (!config.is_object()) throw Error(run + "/config.json: not the record of a run; expected a JSON object");
  const std::string data = run + "/" + kReportData, audit = run + "/" + kAuditData,
                    metrics = run + "/metrics.jsonl";
  ReportDocument out = fs::exists(data) ? parse_document(content(data), data) : unfinished_run(run, config);
  out.name = run;  // where it is now
  out.title = fmt::format("{}: {}", out.command, run);
  std::vector<ReportSection> shown = std::move(out.sections);
  out.sections.clear();
  if (fs::exists(metrics)) add_training(metrics, out);
  for (ReportSection& section : shown) out.sections.push_back(std::move(section));
  if (fs::exists(audit)) put_audit_first(parse_document(content(audit), audit), out);
  return out;
}

ReportDocument read_file(const std::string& path) {
  const json found = parsed(path);
  if (found.is_object() && found.contains("report") && found["report"].is_object())
    return parse_document(found["report"].dump(), path + ": report");
  if (found.is_object() && found.contains("run") && found["run"].is_string() &&
      fs::is_directory(found["run"].get<std::string>()))
    return read_report(found["run"].get<std::string>());
  if (found.is_object() && found.contains("format")) return parse_document(found.dump(), path);
  throw Error(path +
              ": no report in it; expected what train, audit, normalize or reproduce of this version wrote "
              "as JSON, with the key \"report\" (evaluate has none: use audit --json)");
}

// Experiments one after the other.
ReportDocument read_experiments(const std::string& folder) {
  std::vector<std::string> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".json") paths.push_back(entry.path().string());
  std::ranges::sort(paths);
  ReportDocument out{.name = folder, .command = "reproduce", .title = "Experiments in " + folder};
  for (const std::string& path : paths) {
    const json found = bounded_json<json>(content(path));
    if (!found.is_object() || !found.contains("experiment") || !found.contains("report")) continue;
    ReportDocument document = parse_document(found["report"].dump(), path + ": report");
    for (ReportSection& section : document.sections) out.sections.push_back(std::move(section));
    for (const std::string& note : document.notes) out.notes.push_back(document.title + ": " + note);
  }
  if (!out.sections.empty()) return out;
  throw Error(folder +
              ": neither a run (there is no config.json) nor a folder of experiments (no NAME.json of "
              "'selfnorm reproduce' with a report); name a run directory or a JSON file");
}

}  // namespace

ReportDocument read_report(const std::string& path) {
  std::string trimmed = path;
  while (trimmed.size() > 1 && trimmed.back() == '/') trimmed.pop_back();
  if (!fs::is_directory(trimmed)) return read_file(trimmed);
  return fs::exists(trimmed + "/config.json") ? read_run(trimmed) : read_experiments(trimmed);
}

}  // namespace selfnorm
