#include "density/density_score.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "classifier/score_kind.h"
#include "density/density_applicability.h"
#include "density/density_model.h"
#include "density/density_points.h"
#include "density/density_report.h"
#include "grammar/changed_options.h"
#include "math/parallel.h"
#include "output.h"
#include "selfnorm/error.h"

namespace selfnorm::cli {
namespace {

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
  return std::abs(stored_number(nlohmann::ordered_json::parse(model.audit_json), {"log_ratio"}).value_or(0));
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
  for (const std::string& text : idle_log_z_options(arguments, level.kind)) warning(text);
}

// With the first rows, so that an error before them leaves standard output empty.
void print_head(const Level& level, bool json) {
  if (!json) return print(fmt::format("# {}\n", level.description));
  print(fmt::format("{{\"kind\": \"{}\", ", level.kind));
  if (level.log_z) print(fmt::format("\"log_z\": {}, ", log_z_json(*level.log_z).dump()));
  print("\"rows\": [");
}

}  // namespace

int score_points(const Arguments& arguments) {
  const ScoreArguments& given = arguments.score;
  refuse_options(arguments, class_options(), given.model + " is a density, which scores rows");
  check_kind_options(given);
  if (given.amortised)
    throw Error(
        fmt::format("--amortised: b of {}, a density, is one number; --raw subtracts it", given.model));
  if (!given.exact)
    refuse_options(arguments, {"--method", "--samples", "--precision", "--seed"}, "needs --exact");
  arguments.log_z.validate();
  check_log_z_applicability(arguments);
  const ThreadLimit limit(arguments.common.threads);
  const DensityModel model = open_density(given.model, arguments.common.code()).model;
  const auto points = open_points_for(model, given.data, arguments);
  const Level level = given.exact ? exact_level(model, arguments.log_z)
                      : given.raw ? raw_level(model)
                                  : default_level(model, arguments.log_z);
  if (!arguments.common.quiet) warn(level, model, arguments);
  const bool json = arguments.common.json;
  std::vector<uint64_t> rows;
  std::vector<float> values;
  for (uint64_t begin = 0; begin < points->rows(); begin += rows.size()) {
    rows.resize(std::min(kRowsAtOnce, points->rows() - begin));
    std::iota(rows.begin(), rows.end(), begin);
    values.resize(rows.size() * points->columns());
    points->read(rows, values);
    const std::vector<double> scores =
        density_scores(model, {values.data(), rows.size(), points->columns()}, level.log_z);
    if (begin == 0) print_head(level, json);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (json)
        print((rows[i] == 0 ? "\n  " : ",\n  ") +
              nlohmann::ordered_json{{"row", points->number(rows[i])}, {"log_prob", scores[i]}}.dump());
      else
        print(fmt::format("{}\t{}\t{}\n", points->number(rows[i]), scores[i], level.kind));
    }
  }
  if (json) print("\n]}\n");
  return 0;
}

}  // namespace selfnorm::cli
