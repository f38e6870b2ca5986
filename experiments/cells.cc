#include "experiments/cells.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

using nlohmann::json;

json cell_json(const std::string& key, const CellValues& values) {
  json out = {{"key", key}, {"numbers", json::object()}};
  for (const auto& [name, value] : values.numbers)
    out["numbers"][name] = std::isfinite(value) ? json(value) : json();
  if (!values.grid.empty()) out["grid"] = values.grid;
  return out;
}

// False when the line is no cell.
bool read_cell(const std::string& line, std::string& key, CellValues& values) {
  const json cell = bounded_json<json>(line);
  if (!cell.is_object() || !cell.contains("key") || !cell["key"].is_string() || !cell.contains("numbers") ||
      !cell["numbers"].is_object())
    return false;
  for (const auto& [name, value] : cell["numbers"].items())
    values.numbers[name] = value.is_number() ? value.get<double>() : std::nan("");
  if (cell.contains("grid")) {
    for (const json& value : cell["grid"]) {
      if (!value.is_number()) return false;
      values.grid.push_back(value.get<double>());
    }
  }
  key = cell["key"].get<std::string>();
  return true;
}

}  // namespace

double CellValues::at(const std::string& name) const {
  const auto found = numbers.find(name);
  if (found == numbers.end()) throw Bug("a cell has no number " + name);
  return found->second;
}

Cells::Cells(std::string path) : path_(std::move(path)) {
  if (path_.empty() || !std::filesystem::exists(path_)) return;
  std::ifstream in(path_, std::ios::binary);
  if (!in) throw Error(fmt::format("{}: cannot be read; choose another --out or use --fresh", path_));
  std::string line, key;
  while (std::getline(in, line)) {
    is_torn_ = in.eof();
    CellValues values;
    if (read_cell(line, key, values)) known_[key] = std::move(values);
  }
}

const CellValues& Cells::get(const std::string& key, const std::function<CellValues()>& compute) {
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  const CellValues& values = known_[key] = compute();
  if (path_.empty()) return values;
  std::ofstream out(path_, std::ios::binary | std::ios::app);
  if (is_torn_) out << '\n';
  is_torn_ = false;
  out << cell_json(key, values).dump() << '\n' << std::flush;
  if (!out) throw Error(fmt::format("{}: cannot be written; free some space or choose another --out", path_));
  return values;
}

}  // namespace selfnorm
