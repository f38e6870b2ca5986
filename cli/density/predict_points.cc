#include <algorithm>
#include <numeric>

#include "answer_sheet.h"
#include "base/failure.h"
#include "commands.h"
#include "density/density_model.h"
#include "output.h"
#include "table_columns.h"

namespace selfnorm::cli {
namespace {

constexpr uint64_t kPointsAtOnce = 8192;

std::vector<double> log_densities(const DensityModel& model, const PointSource& points,
                                  const std::optional<LogZEstimate>& log_z) {
  std::vector<double> out;
  std::vector<uint64_t> rows;
  std::vector<float> values;
  for (uint64_t begin = 0; begin < points.rows(); begin += rows.size()) {
    rows.resize(std::min(kPointsAtOnce, points.rows() - begin));
    std::iota(rows.begin(), rows.end(), begin);
    values.resize(rows.size() * points.columns());
    points.read(rows, values);
    const auto some = density_scores(model, {values.data(), rows.size(), points.columns()}, log_z);
    out.insert(out.end(), some.begin(), some.end());
  }
  return out;
}

}  // namespace

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
  const auto [z, distrust] = judged_log_z(model, arguments.log_z);
  const bool is_trusted = distrust.empty();
  const std::string kind = is_trusted ? z.method : "raw";
  const std::vector<double> score =
      log_densities(model, *points, is_trusted ? std::optional(z) : std::nullopt);
  if (!is_trusted && !arguments.common.quiet)
    warning(fmt::format("log-densities are right up to a constant: {}", distrust));

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
