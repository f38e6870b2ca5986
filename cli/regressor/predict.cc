#include <fmt/compile.h>

#include <cmath>
#include <iterator>
#include <memory>

#include "base/atomic_file.h"
#include "base/failure.h"
#include "commands.h"
#include "data/write.h"
#include "family/regressor/predictive.h"
#include "output.h"
#include "regressor/regressor_data.h"
#include "run/progress_line.h"

namespace selfnorm::cli {
namespace {

struct SheetOptions {
  std::vector<std::string> targets;
  std::vector<double> quantiles, intervals, survival;
  bool has_exact = false, has_raw = false;  // log-densities of the target
  bool has_normalizer = false;              // a, b: not of ensembles
  bool has_samples = false, has_grid = false;
};

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
  add_by_level("survival", options.survival, out, [&](size_t i) { add_json_number(c.survival[i], out); });
  if (!options.has_grid) return;
  out += ", \"grid\": {\"y\": ";
  add_json_list(c.grid_y, out, add_json_number);
  out += ", \"density\": ";
  add_json_list(c.grid_density, out, add_json_number);
  out += '}';
}

// CSV: several values of a field are separated by ';', an interval is FROM:TO, the coordinates of a sample
// are separated by ' '. With several targets the names of columns start with that of the target and a dot.
// Numbers have the digits that tell them from all others. A log-density of a target that is missing is an
// empty field, or null; of one whose density is 0 it is -inf, or null. JSON has A and b of a model of one
// member; an ensemble has none of its own.
class PredictionSheet {
 public:
  explicit PredictionSheet(SheetOptions options) : options_(std::move(options)) {}

  // Lines without their end.
  std::string csv_header() const {
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
      for (const double t : options_.survival) add(fmt::format("survival{}", t));
      if (options_.has_grid) {
        add("grid_y");
        add("grid_density");
      }
    }
    if (options_.has_exact) out += ",log_density";
    if (options_.has_raw) out += ",log_density_raw";
    if (options_.has_samples) out += ",samples";
    return out;
  }

  std::string csv(uint64_t row, const Prediction& p) const {
    std::string out = std::to_string(row);
    const auto field = [&out](const auto& value, const auto& add) { add(value, out += ','); };
    const auto add_intervals = [](const std::vector<Interval>& intervals, std::string& to) {
      add_list(intervals, ";", to, add_interval);
    };
    const auto add_optional = [](const std::optional<double>& value, std::string& to) {
      if (value) add_number(*value, to);
    };
    for (const CoordinatePrediction& c : p.coordinates) {
      for (const double value : {c.mean, c.deviation, c.median}) field(value, add_number);
      field(c.modes, add_numbers);
      for (const double quantile : c.quantiles) field(quantile, add_number);
      for (size_t i = 0; i < c.central.size(); ++i) {
        field(c.central[i], add_interval);
        field(c.highest_density[i], add_intervals);
      }
      for (const double share : c.survival) field(share, add_number);
      if (!options_.has_grid) continue;
      field(c.grid_y, add_numbers);
      field(c.grid_density, add_numbers);
    }
    if (options_.has_exact) field(p.log_density, add_optional);
    if (options_.has_raw) field(p.log_density_raw, add_optional);
    if (!options_.has_samples) return out;
    for (size_t i = 0; i < p.samples.size(); ++i) {
      out += i == 0 ? ',' : i % p.coordinates.size() == 0 ? ';' : ' ';
      add_number(p.samples[i], out);
    }
    return out;
  }

  std::string json(uint64_t row, const Prediction& p) const {
    std::string out = fmt::format("{{\"row\": {}, ", row);
    if (p.coordinates.size() == 1) {
      add_json_coordinate(p.coordinates[0], options_, out);
    } else {
      out += "\"targets\": {";
      for (size_t j = 0; j < p.coordinates.size(); ++j) {
        out += (j > 0 ? ", " : "") + json_line(options_.targets[j]) + ": {";
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
    return out + '}';
  }

 private:
  SheetOptions options_;
};

constexpr uint64_t kShownEvery = 256;

SheetOptions sheet_options(const Regressor& model, const PredictArguments& given, bool has_targets) {
  const PredictionOptions& options = given.options;
  const std::string& wanted = given.log_density;
  if (!has_targets && wanted != "auto" && wanted != "none")
    throw_error("--log-density {}: {} has no column {}", wanted, given.data, fmt::join(model.targets, ", "));
  return {.targets = model.targets,
          .quantiles = options.quantiles,
          .intervals = options.intervals,
          .survival = options.survival,
          .has_exact = has_targets && (wanted == "auto" || wanted == "exact" || wanted == "both"),
          .has_raw = has_targets && (wanted == "raw" || wanted == "both"),
          .has_normalizer = model.members.size() == 1,
          .has_samples = options.samples > 0,
          .has_grid = options.grid > 0};
}

}  // namespace

int predict_targets(const Arguments& arguments) {
  const PredictArguments& given = arguments.predict;
  const bool json = arguments.common.json, quiet = arguments.common.quiet;
  PredictionOptions options = given.options;
  const auto [path, model] = open_regressor(given.model, arguments.common.code());
  const Frame frame =
      read_frame_for(model, given.data, {.ignored = given.ignored, .header = arguments.reader.header},
                     TargetNeed::kOptional);
  const RegressionRows data = regression_rows(model, frame, TargetNeed::kOptional);
  options.high = data.high;
  if (!data.high.empty() && (given.log_density == "raw" || given.log_density == "both"))
    throw_error(
        "--log-density {}: the target is of kind {}, whose probabilities are masses by quadrature; expected "
        "exact or none",
        given.log_density, model.target_kind);
  if (!quiet)
    for (const std::string& text : encoding_notes(data.report)) note(text);
  const PredictionSheet sheet(sheet_options(model, given, !data.target.empty()));
  // --out appears whole or not at all.
  const auto file = given.out.empty() ? nullptr : std::make_unique<AtomicFile>(given.out);
  // Rows inside the one object of --json, unless they go to a file.
  const bool is_inside = json && given.out.empty(), writes_json = is_inside || given.format == "json";
  RowSheet rows(is_inside, writes_json ? "" : sheet.csv_header(),
                {{"model", path},
                 {"data", given.data},
                 {"targets", model.targets},
                 {"columns", encoding_json(data.report)}},
                "rows", [&file](const std::string& text) { file ? file->write(text) : print(text); });
  {
    ProgressLine line(quiet);
    predict(model, data.inputs.view(), data.target, options, [&](uint64_t row, Prediction&& p) {
      rows.put(writes_json ? sheet.json(frame.numbers[row], p) : sheet.csv(frame.numbers[row], p));
      if (row % kShownEvery == 0) line.show({row + 1, data.inputs.rows, "rows predicted"});
    });
  }
  rows.finish();
  if (file) file->commit();
  if (json && !given.out.empty())
    print_json({{"model", path},
                {"data", given.data},
                {"rows", data.inputs.rows},
                {"columns", encoding_json(data.report)},
                {"out", given.out}});
  return 0;
}

}  // namespace selfnorm::cli
