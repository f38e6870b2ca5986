#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
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

std::string plain(const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

// The last "seconds" of metrics.jsonl; a run that was resumed goes on counting.
std::optional<double> seconds_of(const std::string& metrics) {
  std::ifstream in(metrics);
  std::optional<double> out;
  for (std::string line; std::getline(in, line);) {
    const json at = bounded_json<json>(line);
    if (at.is_object() && at.contains("seconds") && at["seconds"].is_number()) out = at["seconds"];
  }
  return out;
}

// "data.csv (a0b1...), 10% held out by seed 0": equal words, equal rows.
std::string measured_on(const json& config) {
  if (!config.contains("data") || text_of(config["data"], "hash", "").empty()) return "";
  const auto words = [](const json& data) {
    return fmt::format("{} ({})", text_of(data, "path", "unknown"), text_of(data, "hash", "no hash"));
  };
  if (config.contains("valid") && config["valid"].is_object()) return words(config["valid"]);
  std::string out = words(config["data"]);
  const json options = config.value("options", json::object());
  if (options.is_object() && options.contains("hold-out") && options.contains("seed"))
    out += fmt::format(", held out: {} by seed {}", plain(options["hold-out"]), plain(options["seed"]));
  return out;
}

// What would make the run again: data with their hash, time and all options.
void add_record(const std::string& run, const json& config, ReportDocument& out) {
  const std::string measured = measured_on(config);
  if (!measured.empty()) out.cards.push_back({"measured_on", "Measured on", measured, {}, "path and hash"});
  ReportTable table{.id = "record",
                    .look = "Everything that shapes the run: the same data and options give the same model.",
                    .table = {.caption = "Record", .columns = {"what", "value"}}};
  table.table.add({"command", text_of(config, "command", "unknown")});
  for (const char* key : {"data", "valid", "test"})
    if (config.contains(key) && config[key].is_object())
      for (const auto& [name, value] : config[key].items())
        table.table.add({fmt::format("{}: {}", key, name), plain(value)});
  if (const auto seconds = seconds_of(run + "/metrics.jsonl"))
    table.table.add({"training time, s", std::round(10 * *seconds) / 10});
  if (config.contains("options") && config["options"].is_object())
    for (const auto& [name, value] : config["options"].items())
      if (!value.is_null() && !plain(value).empty()) table.table.add({"--" + name, plain(value)});
  out.section("Record").tables.push_back(std::move(table));
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
  add_record(run, config, out);
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
