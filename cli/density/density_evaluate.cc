#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/failure.h"
#include "base/option_table.h"
#include "classifier/evaluation_report.h"
#include "commands.h"
#include "density/density_model.h"
#include "served_kind.h"

namespace selfnorm::cli {
namespace {

// Those of log Z; throws Error for one that its method does not use.
void check_log_z(const Arguments& arguments) {
  arguments.log_z.validate();
  DensityEvaluationOptions given = arguments.log_z, initial;
  log_z_option_table(given).refuse_idle(log_z_option_table(initial));
}

// A warning for every option that `method`, which log Z came by, does not use.
void warn_about_idle(const Arguments& arguments, const std::string& method, const std::string& prefix) {
  DensityEvaluationOptions used = arguments.log_z, initial;
  used.method = method;
  const OptionTable table = log_z_option_table(used);
  for (const Option* option : table.idle(log_z_option_table(initial)))
    warning(fmt::format("{}{} belongs to {}; log Z came by {}", prefix, option_name(option->name),
                        option->owner, method));
}

constexpr uint64_t kRowsAtOnce = 8192;

// What is subtracted from s(u), and how it is called.
struct Level {
  std::string kind;                   // "raw", or the method of log Z
  std::string description;            // the line above the numbers
  std::optional<LogZEstimate> log_z;  // of exact scores
  std::string doubt;                  // why it is not to be trusted; empty: it is
};

Level raw_level(const DensityModel& model) {
  return {"raw", fmt::format("raw, {} b {}", model.normalizer_kind, model.log_normalizer), std::nullopt,
          normalizer_doubt(model)};
}

Level level_with(const LogZEstimate& z) {
  return {z.method, fmt::format("{}, log Z {} in [{}, {}]", z.method, z.value, z.low, z.high), z, ""};
}

Level exact_level(const DensityModel& model, const DensityEvaluationOptions& options) {
  const auto [z, distrust] = judged_log_z(model, options);
  if (!distrust.empty()) throw Error("--exact: " + distrust);
  return level_with(z);
}

double stored_ratio(const DensityModel& model) {
  return std::abs(stored_number(Json::parse(model.audit_json), {"log_ratio"}).value_or(0));
}

// b, unless the file says that a log Z that could be trusted is far from it.
Level default_level(const DensityModel& model, const DensityEvaluationOptions& options) {
  if (stored_ratio(model) <= kLargeRms) return raw_level(model);
  const auto [z, distrust] = judged_log_z(model, options);
  return distrust.empty() ? level_with(z) : raw_level(model);
}

void warn(const Level& level, const DensityModel& model, const Arguments& arguments) {
  if (!level.doubt.empty())
    warning(fmt::format("{}: {}; --exact looks for log Z itself", arguments.score.model, level.doubt));
  if (level.kind == "raw") return warn_about_rms(stored_ratio(model), "raw", "--exact");
  warn_about_idle(arguments, level.kind, "");
}

}  // namespace

int evaluate_densities(const Arguments& arguments) {
  check_log_z(arguments);
  return evaluate_models(
      arguments,
      [&](const std::string& name) {
        const DensityModel model = open_density(name, arguments.common.code()).model;
        const auto points = open_points_for(model, arguments.evaluate.data, arguments);
        DensityRow row{name, evaluate_density(model, *points, arguments.log_z), normalizer_doubt(model)};
        warn_about_idle(arguments, row.evaluation.log_z.method, name + ": ");
        Json report = density_json(row.evaluation);
        report["normalizer"] = model.normalizer_kind;
        return std::pair(std::move(report), std::move(row));
      },
      density_table);
}

int score_points(const Arguments& arguments) {
  const ScoreArguments& given = arguments.score;
  check_kind_options(given);
  if (given.amortised)
    throw_error("--amortised: b of {}, a density, is one number; --raw subtracts it", given.model);
  if (!given.exact) arguments.refuse({"--method", "--samples", "--precision", "--seed"}, "needs --exact");
  check_log_z(arguments);
  const DensityModel model = open_density(given.model, arguments.common.code()).model;
  const auto points = open_points_for(model, given.data, arguments);
  const Level level = given.exact ? exact_level(model, arguments.log_z)
                      : given.raw ? raw_level(model)
                                  : default_level(model, arguments.log_z);
  warn(level, model, arguments);
  Json head = {{"kind", level.kind}};
  if (level.log_z) head["log_z"] = log_z_json(*level.log_z);
  RowSheet sheet(arguments.common.json, "# " + level.description, head);
  std::vector<uint64_t> rows;
  std::vector<float> values;
  for (uint64_t begin = 0; begin < points->rows(); begin += rows.size()) {
    rows.resize(std::min(kRowsAtOnce, points->rows() - begin));
    std::iota(rows.begin(), rows.end(), begin);
    values.resize(rows.size() * points->columns());
    points->read(rows, values);
    const std::vector<double> scores =
        density_scores(model, {values.data(), rows.size(), points->columns()}, level.log_z);
    for (size_t i = 0; i < rows.size(); ++i)
      sheet.row({{"row", points->number(rows[i])}, {"log_prob", scores[i]}, {"", level.kind}});
  }
  sheet.finish();
  return 0;
}

}  // namespace selfnorm::cli
