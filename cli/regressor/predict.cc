#include <fmt/format.h>

#include <memory>

#include "base/atomic_file.h"
#include "commands.h"
#include "family.h"
#include "grammar/option_list.h"
#include "math/parallel.h"
#include "output.h"
#include "regressor/regressor_data.h"
#include "regressor/regressor_model.h"
#include "regressor/regressor_sheet.h"
#include "run/progress_line.h"
#include "selfnorm/error.h"

namespace selfnorm::cli {
namespace {

constexpr size_t kBuffer = 1 << 16;

std::vector<double> levels(const char* option, const std::string& list) {
  if (list == "none") return {};
  const std::vector<double> values = listed_numbers(option, list);
  for (const double value : values)
    if (!(value > 0 && value < 1))
      throw Error(
          fmt::format("{} '{}': found {}, expected numbers above 0 and below 1", option, list, value));
  return values;
}

PredictionOptions prediction_options(const PredictArguments& given) {
  PredictionOptions options;
  options.quantiles = levels("--quantiles", given.quantiles);
  options.intervals = levels("--intervals", given.intervals);
  options.samples = given.samples;
  options.grid = given.grid;
  options.seed = given.seed;
  options.quadrature.precision = given.precision;
  options.validate();
  return options;
}

// To --out, which appears whole or not at all, or to standard output.
class Destination {
 public:
  explicit Destination(const std::string& path) {
    if (!path.empty()) file_ = std::make_unique<AtomicFile>(path);
  }
  void write(const std::string& text) {
    if (file_)
      file_->write(text);
    else
      print(text);
  }
  void finish() {
    if (file_) file_->commit();
  }

 private:
  std::unique_ptr<AtomicFile> file_;
};

SheetOptions sheet_options(const Regressor& model, const PredictArguments& given,
                           const PredictionOptions& options, bool has_targets) {
  const std::string& wanted = given.log_density;
  if (!has_targets && wanted != "auto" && wanted != "none")
    throw Error(fmt::format("--log-density {}: {} has no column {}", wanted, given.data,
                            fmt::join(model.targets, ", ")));
  return {.targets = model.targets,
          .quantiles = options.quantiles,
          .intervals = options.intervals,
          .has_exact = has_targets && (wanted == "auto" || wanted == "exact" || wanted == "both"),
          .has_raw = has_targets && (wanted == "raw" || wanted == "both"),
          .has_normalizer = model.members.size() == 1,
          .has_samples = options.samples > 0,
          .has_grid = options.grid > 0};
}

}  // namespace

int predict_command(const Arguments& arguments) {
  prediction_options(arguments.predict);
  const ThreadLimit limit(arguments.common.threads);
  return run_for_family(arguments, {arguments.predict.model});
}

int predict_targets(const Arguments& arguments) {
  const PredictArguments& given = arguments.predict;
  const bool json = arguments.common.json, quiet = arguments.common.quiet;
  const PredictionOptions options = prediction_options(given);
  const auto [path, model] = open_regressor(given.model, arguments.common.code());
  const Frame frame = read_frame_for(
      model, given.data, {.ignored = listed_words(given.ignored), .header = arguments.reader.header},
      TargetNeed::kOptional);
  const RegressionRows data = regression_rows(model, frame, TargetNeed::kOptional);
  if (!quiet)
    for (const std::string& text : encoding_notes(data.report)) note(text);
  const PredictionSheet sheet(sheet_options(model, given, options, !data.target.empty()));
  Destination out(given.out);
  // Rows inside the one object of --json, unless they go to a file.
  const bool is_inside = json && given.out.empty(), writes_json = is_inside || given.format == "json";
  std::string buffer;
  if (is_inside) {
    nlohmann::ordered_json head = {{"model", path},
                                   {"data", given.data},
                                   {"targets", model.targets},
                                   {"columns", encoding_json(data.report)}};
    buffer = head.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    buffer.back() = ',';
    buffer += " \"rows\": [";
  } else if (!writes_json) {
    buffer = sheet.csv_header();
  }
  {
    ProgressLine line(quiet);
    predict(model, data.inputs.view(), data.target, options, [&](uint64_t row, Prediction&& p) {
      if (is_inside) buffer += row == 0 ? "\n  " : ",\n  ";
      if (writes_json)
        sheet.append_json(frame.numbers[row], p, buffer);
      else
        sheet.append_csv(frame.numbers[row], p, buffer);
      if (writes_json && !is_inside) buffer += '\n';
      if (buffer.size() < kBuffer) return;
      out.write(buffer);
      buffer.clear();
      line.show({row + 1, data.inputs.rows, "rows predicted"});
    });
  }
  if (is_inside) buffer += "\n]}\n";
  out.write(buffer);
  out.finish();
  if (json && !given.out.empty())
    print_json({{"model", path},
                {"data", given.data},
                {"rows", data.inputs.rows},
                {"columns", encoding_json(data.report)},
                {"out", given.out}});
  return 0;
}

}  // namespace selfnorm::cli
