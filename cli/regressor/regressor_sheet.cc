#include "regressor/regressor_sheet.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "data/write.h"

namespace selfnorm::cli {
namespace {

void add_number(double value, std::string& out) {
  fmt::format_to(std::back_inserter(out), FMT_COMPILE("{}"), value);
}

// JSON has no word for what is not finite.
void add_json_number(double value, std::string& out) {
  if (std::isfinite(value))
    add_number(value, out);
  else
    out += "null";
}

template <typename Items, typename Add>
void add_list(const Items& items, const char* separator, std::string& out, const Add& add) {
  bool is_first = true;
  for (const auto& item : items) {
    if (!is_first) out += separator;
    add(item, out);
    is_first = false;
  }
}

void add_numbers(const std::vector<double>& values, std::string& out) {
  add_list(values, ";", out, add_number);
}
void add_interval(const Interval& interval, std::string& out) {
  add_number(interval.from, out);
  out += ':';
  add_number(interval.to, out);
}
void add_json_interval(const Interval& interval, std::string& out) {
  out += '[';
  add_json_number(interval.from, out);
  out += ", ";
  add_json_number(interval.to, out);
  out += ']';
}
template <typename Items, typename Add>
void add_json_list(const Items& items, std::string& out, const Add& add) {
  out += '[';
  add_list(items, ", ", out, add);
  out += ']';
}

void add_optional(const std::optional<double>& value, std::string& out) {
  if (value) add_number(*value, out);
}

std::string quoted_cell(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// {"0.05": add(0), ...}
template <typename Add>
void add_by_level(const char* name, const std::vector<double>& levels, std::string& out, const Add& add) {
  if (levels.empty()) return;
  fmt::format_to(std::back_inserter(out), ", \"{}\": {{", name);
  for (size_t i = 0; i < levels.size(); ++i) {
    fmt::format_to(std::back_inserter(out), "{}\"{}\": ", i > 0 ? ", " : "", levels[i]);
    add(i);
  }
  out += '}';
}

void add_json_coordinate(const CoordinatePrediction& c, const SheetOptions& options, std::string& out) {
  const auto add = [&out](const char* name, double value) {
    fmt::format_to(std::back_inserter(out), FMT_COMPILE("\"{}\": "), name);
    add_json_number(value, out);
    out += ", ";
  };
  add("mean", c.mean);
  add("sd", c.deviation);
  add("median", c.median);
  out += "\"modes\": ";
  add_json_list(c.modes, out, add_json_number);
  add_by_level("quantiles", options.quantiles, out, [&](size_t i) { add_json_number(c.quantiles[i], out); });
  add_by_level("central", options.intervals, out, [&](size_t i) { add_json_interval(c.central[i], out); });
  add_by_level("highest_density", options.intervals, out,
               [&](size_t i) { add_json_list(c.highest_density[i], out, add_json_interval); });
  if (!options.has_grid) return;
  out += ", \"grid\": {\"y\": ";
  add_json_list(c.grid_y, out, add_json_number);
  out += ", \"density\": ";
  add_json_list(c.grid_density, out, add_json_number);
  out += '}';
}

}  // namespace

std::string PredictionSheet::csv_header() const {
  std::string out = "row";
  for (const std::string& target : options_.targets) {
    const std::string prefix = options_.targets.size() > 1 ? target + "." : "";
    const auto add = [&](const std::string& name) { out += "," + csv_field(prefix + name); };
    for (const char* name : {"mean", "sd", "median", "modes"}) add(name);
    for (const double level : options_.quantiles) add(fmt::format("q{}", level));
    for (const double level : options_.intervals) {
      add(fmt::format("central{}", level));
      add(fmt::format("highest_density{}", level));
    }
    if (options_.has_grid) {
      add("grid_y");
      add("grid_density");
    }
  }
  if (options_.has_exact) out += ",log_density";
  if (options_.has_raw) out += ",log_density_raw";
  if (options_.has_samples) out += ",samples";
  return out + "\n";
}

void PredictionSheet::append_csv(uint64_t row, const Prediction& p, std::string& out) const {
  fmt::format_to(std::back_inserter(out), FMT_COMPILE("{}"), row);
  for (const CoordinatePrediction& c : p.coordinates) {
    for (const double value : {c.mean, c.deviation, c.median}) {
      out += ',';
      add_number(value, out);
    }
    out += ',';
    add_numbers(c.modes, out);
    for (const double quantile : c.quantiles) {
      out += ',';
      add_number(quantile, out);
    }
    for (size_t i = 0; i < c.central.size(); ++i) {
      out += ',';
      add_interval(c.central[i], out);
      out += ',';
      add_list(c.highest_density[i], ";", out, add_interval);
    }
    if (!options_.has_grid) continue;
    out += ',';
    add_numbers(c.grid_y, out);
    out += ',';
    add_numbers(c.grid_density, out);
  }
  if (options_.has_exact) add_optional(p.log_density, out += ',');
  if (options_.has_raw) add_optional(p.log_density_raw, out += ',');
  if (options_.has_samples) {
    out += ',';
    const size_t d = p.coordinates.size();
    for (size_t i = 0; i < p.samples.size(); ++i) {
      if (i > 0) out += i % d == 0 ? ';' : ' ';
      add_number(p.samples[i], out);
    }
  }
  out += '\n';
}

void PredictionSheet::append_json(uint64_t row, const Prediction& p, std::string& out) const {
  fmt::format_to(std::back_inserter(out), FMT_COMPILE("{{\"row\": {}, "), row);
  if (p.coordinates.size() == 1) {
    add_json_coordinate(p.coordinates[0], options_, out);
  } else {
    out += "\"targets\": {";
    for (size_t j = 0; j < p.coordinates.size(); ++j) {
      out += (j > 0 ? ", " : "") + quoted_cell(options_.targets[j]) + ": {";
      add_json_coordinate(p.coordinates[j], options_, out);
      out += '}';
    }
    out += '}';
  }
  const auto add = [&out](const char* name, const std::optional<double>& value) {
    fmt::format_to(std::back_inserter(out), FMT_COMPILE(", \"{}\": "), name);
    add_json_number(value.value_or(NAN), out);
  };
  if (options_.has_exact) add("log_density", p.log_density);
  if (options_.has_raw) add("log_density_raw", p.log_density_raw);
  if (options_.has_normalizer) {
    add("a", p.log_normalizer);
    add("b", p.normalizer);
  }
  add("error", p.error);
  add("tail", p.tail);
  if (options_.has_samples) {
    out += ", \"samples\": ";
    const size_t d = p.coordinates.size();
    if (d == 1) {
      add_json_list(p.samples, out, add_json_number);
    } else {
      out += '[';
      for (size_t i = 0; i < p.samples.size(); i += d) {
        if (i > 0) out += ", ";
        add_json_list(std::span(p.samples).subspan(i, d), out, add_json_number);
      }
      out += ']';
    }
  }
  out += '}';
}

}  // namespace selfnorm::cli
