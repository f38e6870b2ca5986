#include "document/section/metrics.h"

#include <fmt/format.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

using Json = nlohmann::json;

constexpr double kNotFinite = std::numeric_limits<double>::quiet_NaN();

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw Error(fmt::format("{}: {}; expected one JSON object a line, as training writes them", where, what));
}

double number(const Json& object, const char* key, const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end()) return 0;
  if (found->is_null()) return kNotFinite;
  if (!found->is_number()) fail(where, fmt::format("\"{}\" is no number", key));
  return found->get<double>();
}

void add_line(const Json& object, const std::string& where, Metrics& metrics) {
  if (!object.contains("step")) fail(where, "found no \"step\"");
  const size_t at = metrics.lines.size();
  metrics.lines.push_back(
      {number(object, "step", where), number(object, "epoch", where), number(object, "alpha", where)});
  for (const auto& [key, value] : object.items()) {
    if (key == "step" || key == "epoch" || key == "seconds") continue;
    if (!value.is_number() && !value.is_null()) fail(where, fmt::format("\"{}\" is no number", key));
    MetricsCurve& curve = metrics.curves[key];
    curve.line.push_back(at);
    curve.value.push_back(value.is_null() ? kNotFinite : value.get<double>());
  }
}

}  // namespace

Metrics read_metrics(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(fmt::format("cannot read {}; expected the metrics of a training run", path));
  Metrics metrics;
  size_t count = 0;
  for (std::string line; std::getline(file, line);) {
    const bool is_cut = file.eof();
    const std::string where = fmt::format("{}:{}", path, ++count);
    const Json object = bounded_json<Json>(line);
    if (!object.is_object() && is_cut) break;
    if (!object.is_object()) fail(where, "found something else than a JSON object");
    add_line(object, where, metrics);
  }
  return metrics;
}

}  // namespace selfnorm
