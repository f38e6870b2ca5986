#include "experiments/record.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "document/figure.h"
#include "experiments/record_document.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

using nlohmann::ordered_json;

ordered_json json_cell(const Cell& cell) {
  if (const double* number = std::get_if<double>(&cell)) {
    return std::isfinite(*number) ? ordered_json(*number) : ordered_json();
  }
  return std::get<std::string>(cell);
}

std::string draw(const Figure& figure, const std::string& folder, const std::string& name) {
  if (figure.panels.empty()) return name + ": there is nothing to draw";
  return draw_figure(figure, folder, name);
}

}  // namespace

double Record::number(const std::string& fact) const {
  for (const auto& [name_of, value] : facts) {
    if (name_of == fact) return std::get<double>(value);
  }
  throw Bug("experiment " + name + " has no fact " + fact);
}

std::string json_text(const Record& record, double seconds, const std::string& group) {
  ordered_json out = {{"experiment", record.name}, {"title", record.title}};
  for (const auto& [name, value] : record.settings) out["settings"][name] = value;
  out["paper"] = record.paper;
  out["measured"] = record.measured;
  out["differences"] = record.differences;
  for (const auto& [name, value] : record.facts) out["facts"][name] = json_cell(value);
  out["columns"] = record.data.columns;
  out["rows"] = ordered_json::array();
  for (const auto& row : record.data.rows) {
    ordered_json cells = ordered_json::array();
    for (const Cell& cell : row) cells.push_back(json_cell(cell));
    out["rows"].push_back(std::move(cells));
  }
  out["seconds"] = seconds;
  std::string text = out.dump(1);
  text.erase(text.find_last_of('}') - 1);  // the report stands on one line: pretty, it would be twice as long
  return text + ",\n \"report\": " + document_text(record_document(record, group)) + "\n}\n";
}

std::string write_record(const Record& record, double seconds, const std::string& folder,
                         const std::string& group) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) {
    throw Error(fmt::format("{}: the folder cannot be created ({}); choose another --out", folder,
                            failure.message()));
  }
  const std::string base = folder + "/" + record.name;
  AtomicFile::write_file(base + ".json", json_text(record, seconds, group));
  AtomicFile::write_file(base + ".csv", csv_text(record.data));
  std::string problem = draw(record.figure, folder, record.name);
  for (const auto& [suffix, figure] : record.more_figures) {
    const std::string found = draw(figure, folder, record.name + "-" + suffix);
    if (problem.empty()) problem = found;
  }
  return problem;
}

}  // namespace selfnorm
