#include <fmt/compile.h>

#include <cmath>
#include <iterator>

#include "answer_sheet.h"
#include "base/failure.h"
#include "commands.h"
#include "family/regressor/predictive.h"
#include "output.h"
#include "regressor/regressor_data.h"
#include "run/progress_line.h"
#include "table_columns.h"

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

// CSV: one column for each number. mode_1 is the highest mode; there are columns for three of them, lo_0.9
// and hi_0.9 are the ends of the central interval, and highest-density regions, which may be several
// intervals, are in JSON alone. With several targets the names of columns start with that of the target and a
// dot. Numbers have the digits that tell them from all others. A log-density of a target that is missing is
// an empty field, or null; of one whose density is 0 it is -inf, or null. JSON has A and b of a model of one
// member; an ensemble has none of its own.
class PredictionSheet {
 public:
  PredictionSheet(SheetOptions options, const PredictionOptions& numbers)
      : options_(std::move(options)), samples_(numbers.samples), grid_(numbers.grid) {}

  // After "row" and what is kept.
  std::vector<std::string> columns() const {
    std::vector<std::string> names;
    for (const std::string& target : options_.targets) {
      const std::string prefix = options_.targets.size() > 1 ? target + "." : "";
      const auto add = [&](const std::string& name) { names.push_back(prefix + name); };
      for (const char* name : {"mean", "sd", "median"}) add(name);
      for (size_t i = 1; i <= kModes; ++i) add(fmt::format("mode_{}", i));
      for (const double level : options_.quantiles) add(fmt::format("q{}", level));
      for (const double level : options_.intervals) {
        add(fmt::format("lo_{}", level));
        add(fmt::format("hi_{}", level));
      }
      for (const double t : options_.survival) add(fmt::format("survival{}", t));
      for (uint64_t i = 1; i <= grid_; ++i) {
        add(fmt::format("grid_y_{}", i));
        add(fmt::format("grid_density_{}", i));
      }
    }
    if (options_.has_exact) names.emplace_back("log_density");
    if (options_.has_raw) names.emplace_back("log_density_raw");
    for (uint64_t i = 1; i <= samples_; ++i)
      for (const std::string& target : options_.targets)
        names.push_back((options_.targets.size() > 1 ? target + "." : "") + fmt::format("sample_{}", i));
    return names;
  }

  void add(const Prediction& p, std::vector<AnswerSheet::Cell>& cells) const {
    for (const CoordinatePrediction& c : p.coordinates) {
      for (const double value : {c.mean, c.deviation, c.median}) cells.emplace_back(value);
      for (size_t i = 0; i < kModes; ++i)
        cells.push_back(i < c.modes.size() ? AnswerSheet::Cell(c.modes[i]) : AnswerSheet::Cell());
      cells.insert(cells.end(), c.quantiles.begin(), c.quantiles.end());
      for (const Interval& interval : c.central) {
        cells.emplace_back(interval.from);
        cells.emplace_back(interval.to);
      }
      cells.insert(cells.end(), c.survival.begin(), c.survival.end());
      for (size_t i = 0; i < c.grid_y.size(); ++i) {
        cells.emplace_back(c.grid_y[i]);
        cells.emplace_back(c.grid_density[i]);
      }
    }
    const auto optional = [&cells](const std::optional<double>& value) {
      cells.push_back(value ? AnswerSheet::Cell(*value) : AnswerSheet::Cell());
    };
    if (options_.has_exact) optional(p.log_density);
    if (options_.has_raw) optional(p.log_density_raw);
    cells.insert(cells.end(), p.samples.begin(), p.samples.end());
  }

  // `kept`: members after the row, as text, or nothing.
  std::string json(uint64_t row, const std::string& kept, const Prediction& p) const {
    std::string out = fmt::format("{{\"row\": {}, {}", row, kept);
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
  static constexpr size_t kModes = 3;

  SheetOptions options_;
  uint64_t samples_, grid_;
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
      read_frame_for(model, given.data, {.ignored = arguments.points.drop, .header = arguments.reader.header},
                     TargetNeed::kOptional);
  const RegressionRows data = regression_rows(model, frame, TargetNeed::kOptional);
  options.high = data.high;
  if (!data.high.empty() && (given.log_density == "raw" || given.log_density == "both"))
    throw_error(
        "--log-density {}: the target is of kind {}, whose probabilities are masses by quadrature; expected "
        "exact or none",
        given.log_density, model.target_kind);
  const KeptColumns kept(given.keep, frame);
  if (!quiet)
    for (const std::string& text : encoding_notes(data.report)) note(text);
  const PredictionSheet predictions(sheet_options(model, given, !data.target.empty()), options);
  std::vector<std::string> columns{"row"};
  columns.insert(columns.end(), given.keep.begin(), given.keep.end());
  const std::vector<std::string> predicted = predictions.columns();
  columns.insert(columns.end(), predicted.begin(), predicted.end());
  AnswerSheet sheet(arguments, columns,
                    {{"model", path},
                     {"data", given.data},
                     {"targets", model.targets},
                     {"columns", encoding_json(data.report)}});
  {
    ProgressLine line(quiet || sheet.is_table());
    predict(model, data.inputs.view(), data.target, options, [&](uint64_t row, Prediction&& p) {
      if (sheet.is_json()) {
        Json object = Json::object();
        kept.add(row, object);
        const std::string members = json_line(object);
        sheet.put(predictions.json(frame.numbers[row],
                                   object.empty() ? "" : members.substr(1, members.size() - 2) + ", ", p));
      } else {
        std::vector<AnswerSheet::Cell> cells{frame.numbers[row]};
        kept.add(row, cells);
        predictions.add(p, cells);
        sheet.row(std::move(cells));
      }
      if (row % kShownEvery == 0) line.show({row + 1, data.inputs.rows, "rows predicted"});
    });
  }
  sheet.finish();
  if (json && !given.out.empty())
    print_json({{"model", path},
                {"data", given.data},
                {"rows", data.inputs.rows},
                {"columns", encoding_json(data.report)},
                {"out", given.out}});
  return 0;
}

}  // namespace selfnorm::cli
