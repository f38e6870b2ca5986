#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "answer_sheet.h"
#include "base/failure.h"
#include "base/option_table.h"
#include "classifier/evaluation_report.h"
#include "commands.h"
#include "density/density_model.h"
#include "output.h"
#include "served_kind.h"
#include "table_columns.h"

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

Level level_with(const DensityModel& model, const LogZEstimate& z) {
  const bool has_lines = model.energy->record().kind == "autoregressive";
  return {z.method,
          has_lines ? fmt::format("{}, of the integrals of every row", z.method)
                    : fmt::format("{}, log Z {} in [{}, {}]", z.method, z.value, z.low, z.high),
          z, ""};
}

// That of the end of training, when it could be trusted and nothing else is asked for: it is found in the
// same way, which may take long.
JudgedLogZ known_log_z(const DensityModel& model, const DensityEvaluationOptions& options) {
  DensityEvaluationOptions asked = options, initial;
  const bool is_default =
      log_z_option_table(asked).fingerprint() == log_z_option_table(initial).fingerprint();
  const Json audit = Json::parse(model.audit_json);
  const Json* z = audit.contains("log_z") ? &audit["log_z"] : nullptr;
  if (!is_default || z == nullptr || audit.value("trusted", false) == false)
    return judged_log_z(model, options);
  const auto number = [&](const char* name) { return stored_number(*z, {name}); };
  const std::string method = z->value("method", "");
  const auto value = number("value"), low = number("low"), high = number("high");
  if (!value || !low || !high || !(method == "importance" || method == "quadrature" || method == "bridge"))
    return judged_log_z(model, options);
  return {{method, *value, *low, *high, number("ess").value_or(0), 0, number("tail").value_or(0)}, ""};
}

Level exact_level(const DensityModel& model, const DensityEvaluationOptions& options) {
  const auto [z, distrust] = known_log_z(model, options);
  if (!distrust.empty()) throw Error("--exact: " + distrust);
  return level_with(model, z);
}

double stored_ratio(const DensityModel& model) {
  const Json audit = Json::parse(model.audit_json);
  return std::abs(stored_number(audit, {"rms"}).value_or(stored_number(audit, {"log_ratio"}).value_or(0)));
}

// b, unless the file says that a log Z that could be trusted is far from it.
Level default_level(const DensityModel& model, const DensityEvaluationOptions& options) {
  if (stored_ratio(model) <= kLargeRms) return raw_level(model);
  const auto [z, distrust] = known_log_z(model, options);
  return distrust.empty() ? level_with(model, z) : raw_level(model);
}

// The likelihood of a row with intervals is a mass; rows may have integrals of their own.
void note_errors(const RowScores& scores) {
  if (scores.line_error > 0)
    note(fmt::format("the integrals of every row are known to +-{:.2g} or better", scores.line_error));
  if (scores.intervals == 0) return;
  note(fmt::format("{} rows have intervals: the log of their mass there, known to +-{:.2g} (95%) or better",
                   grouped(scores.intervals), scores.largest_error));
  if (scores.doubtful_intervals > 0) warning(interval_doubt(scores.doubtful_intervals));
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
  const DensityScorer scorer(model, *points, level.log_z, arguments.log_z.precision);
  std::vector<uint64_t> rows;
  RowScores known;
  for (uint64_t begin = 0; begin < points->rows(); begin += rows.size()) {
    rows.resize(std::min(kRowsAtOnce, points->rows() - begin));
    std::iota(rows.begin(), rows.end(), begin);
    const RowScores scores = scorer(rows);
    known.note(scores);
    for (size_t i = 0; i < rows.size(); ++i)
      sheet.row({{"row", points->number(rows[i])}, {"log_prob", scores.log_p[i]}, {"", level.kind}});
  }
  sheet.finish();
  if (!arguments.common.quiet) note_errors(known);
  return 0;
}

// CSV: row, log_density, rank (1: the most unusual row of DATA) and unusual, the share of the rows that are
// at most as likely. Rows are in their order; with --top N only the N most unusual, in the order of rank.
int predict_points(const Arguments& arguments) {
  const PredictArguments& given = arguments.predict;
  const auto [path, model] = open_density(given.model, arguments.common.code());
  PointOptions reading = point_options(arguments);
  const KeptColumns kept(given.keep, given.data, arguments.reader.options.header);
  if (!kept.names().empty()) {
    for (const std::string& name : kept.names())
      if (std::ranges::find(model.feature_names, name) == model.feature_names.end())
        reading.drop.push_back(name);
  }
  const auto points = open_points_for(model, given.data, std::move(reading));
  // log Z where it is known well, otherwise b: the same for every row, so ranks do not depend on it.
  const auto [z, distrust] = known_log_z(model, arguments.log_z);
  const bool is_trusted = distrust.empty();
  const std::string kind = is_trusted ? z.method : "raw";
  const RowScores found =
      DensityScorer(model, *points, is_trusted ? std::optional(z) : std::nullopt, arguments.log_z.precision)
          .all();
  const std::vector<double>& score = found.log_p;
  if (!is_trusted && !arguments.common.quiet)
    warning(fmt::format("log-densities are right up to a constant: {}", distrust));
  if (!arguments.common.quiet) note_errors(found);

  std::vector<uint64_t> order(score.size()), rank(score.size());
  std::iota(order.begin(), order.end(), uint64_t{0});
  std::ranges::stable_sort(order, [&](uint64_t a, uint64_t b) { return score[a] < score[b]; });
  for (uint64_t i = 0; i < order.size(); ++i) rank[order[i]] = i + 1;
  std::vector<uint64_t> shown = order;
  if (given.top == 0) std::iota(shown.begin(), shown.end(), uint64_t{0});
  if (given.top > 0) shown.resize(std::min<size_t>(shown.size(), given.top));
  std::vector<std::string> columns{"row"};
  columns.insert(columns.end(), kept.names().begin(), kept.names().end());
  columns.insert(columns.end(), {"log_density", "rank", "unusual"});
  AnswerSheet sheet(arguments, columns, {{"model", path}, {"data", given.data}, {"kind", kind}});
  for (const uint64_t i : shown) {
    const double share = static_cast<double>(rank[i]) / static_cast<double>(score.size());
    const uint64_t number = points->number(i);
    if (sheet.is_json()) {
      Json object = {{"row", number}};
      kept.add(i, object);
      object.update({{"log_density", score[i]}, {"rank", rank[i]}, {"unusual", share}});
      sheet.put(json_line(object));
      continue;
    }
    std::vector<AnswerSheet::Cell> cells{number};
    kept.add(i, cells);
    for (const AnswerSheet::Cell& cell :
         {AnswerSheet::Cell(score[i]), AnswerSheet::Cell(rank[i]), AnswerSheet::Cell(share)})
      cells.push_back(cell);
    sheet.row(std::move(cells));
  }
  sheet.finish();
  return 0;
}

}  // namespace selfnorm::cli
