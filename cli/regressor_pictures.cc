#include "regressor_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "output.h"
#include "regressor_heat.h"
#include "selfnorm/base/atomic_file.h"
#include "selfnorm/base/error.h"
#include "selfnorm/reproduce/drawing.h"
#include "selfnorm/reproduce/record.h"

namespace selfnorm::cli {
namespace {

constexpr uint64_t kShown = 250;              // rows of a picture: each is an element of it
constexpr double kUniformDeviations = 2.576;  // 99% of a normal distribution

Picture pit_picture(const DrawnRegressor& drawn) {
  const std::vector<uint64_t>& count = drawn.evaluation.coordinates[0].pit;
  const auto bins = static_cast<double>(count.size());
  const double expected = static_cast<double>(drawn.evaluation.rows) / bins;
  Picture out{.name = "pit", .data = {.columns = {"from", "to", "count", "relative"}}};
  Series bars{
      .name = "share of the rows, times the number of bins", .x = {0}, .y = {0}, .stroke = Stroke::region};
  for (size_t k = 0; k < count.size(); ++k) {
    const double from = static_cast<double>(k) / bins, to = static_cast<double>(k + 1) / bins,
                 height = static_cast<double>(count[k]) / expected;
    bars.x.insert(bars.x.end(), {from, to});
    bars.y.insert(bars.y.end(), {height, height});
    out.data.add({shortened(from), shortened(to), static_cast<double>(count[k]), shortened(height)});
  }
  bars.x.push_back(1);
  bars.y.push_back(0);
  const double deviation = kUniformDeviations * std::sqrt((1 - 1 / bins) / expected);
  const Series bounds{
      .name = "99% of the bins of calibrated predictions lie between",
      .x = {0, 1, NAN, 0, 1},
      .y = {1 + deviation, 1 + deviation, NAN, std::max(0.0, 1 - deviation), std::max(0.0, 1 - deviation)},
      .stroke = Stroke::dashed,
      .colour = 1};
  out.figure = {.title = "Distribution function at the target",
                .panels = {{.title = "",
                            .x = {.label = "F(y|x)", .low = 0, .high = 1},
                            .y = {.label = "density", .low = 0},
                            .series = {bars, bounds}}}};
  return out;
}

// Central intervals at every level from the distribution function at the targets: inside where
// |2 F - 1| <= level.
Picture coverage_picture(const DrawnRegressor& drawn) {
  Picture out{.name = "coverage", .data = {.columns = {"kind", "level", "inside"}}};
  std::vector<double> level_of;
  for (const double f : drawn.evaluation.pit) level_of.push_back(std::abs(2 * f - 1));
  std::sort(level_of.begin(), level_of.end());
  Series central{.name = "central intervals", .x = {}, .y = {}, .stroke = Stroke::line};
  for (int k = 0; k <= 100; ++k) {
    const double level = 0.01 * k;
    const auto inside = std::upper_bound(level_of.begin(), level_of.end(), level) - level_of.begin();
    central.x.push_back(level);
    central.y.push_back(static_cast<double>(inside) / static_cast<double>(level_of.size()));
    out.data.add({"central", shortened(level), shortened(central.y.back())});
  }
  Series highest{.name = "highest-density intervals", .x = {}, .y = {}, .stroke = Stroke::marks, .colour = 1};
  for (const Coverage& coverage : drawn.evaluation.coordinates[0].coverage) {
    highest.x.push_back(coverage.level);
    highest.y.push_back(coverage.highest_density);
    out.data.add({"highest-density", coverage.level, shortened(coverage.highest_density)});
  }
  const Series diagonal{
      .name = "calibrated", .x = {0, 1}, .y = {0, 1}, .stroke = Stroke::dashed, .colour = 7};
  out.figure = {.title = "Coverage of intervals",
                .panels = {{.title = "",
                            .x = {.label = "nominal", .low = 0, .high = 1},
                            .y = {.label = "share of the targets inside", .low = 0, .high = 1},
                            .series = {diagonal, central, highest}}}};
  return out;
}

Picture normalizer_picture(const DrawnRegressor& drawn) {
  const RegressionEvaluation& e = drawn.evaluation;
  Picture out{.name = "normalizer", .data = {.columns = {"row", "a", "b"}}};
  Series points{.name = "rows", .x = {}, .y = {}, .stroke = Stroke::points};
  for (const uint64_t row : spread_rows(e.rows, kShown)) {
    points.x.push_back(e.a[row]);
    points.y.push_back(e.b[row]);
    out.data.add({static_cast<double>(row), shortened(e.a[row]), shortened(e.b[row])});
  }
  const auto [low, high] = std::minmax_element(points.x.begin(), points.x.end());
  const Series diagonal{
      .name = "b = A", .x = {*low, *high}, .y = {*low, *high}, .stroke = Stroke::dashed, .colour = 7};
  out.figure = {.title = "What stands for the log-normalizer, and the log-normalizer",
                .panels = {{.title = fmt::format("rms(b - A) {:.4f}", e.log_z.rms),
                            .x = {.label = "A(x) by quadrature"},
                            .y = {.label = "b(x)"},
                            .series = {diagonal, points}}}};
  return out;
}

// Bands between quantiles, the median and the targets.
Picture fan_picture(const DrawnRegressor& drawn, const std::string& feature) {
  const FrameColumn* along = feature.empty() ? nullptr : drawn.frame.find(feature);
  std::vector<uint64_t> chosen = spread_rows(drawn.frame.rows, kShown);
  if (along != nullptr)
    std::erase_if(chosen, [along](uint64_t row) { return std::isnan(along->number[row]); });
  const EncodedFrame inputs = drawn.rows.inputs.take(chosen);
  const PredictionOptions options{
      .quantiles = {0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975}, .intervals = {}, .quadrature = {}};
  std::vector<std::vector<double>> quantiles;
  predict(drawn.model, inputs.view(), {nullptr, inputs.rows, drawn.model.dimension()}, options,
          [&](uint64_t, Prediction&& row) { quantiles.push_back(std::move(row.coordinates[0].quantiles)); });
  std::vector<size_t> order(chosen.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto key = [&](size_t i) { return along != nullptr ? along->number[chosen[i]] : quantiles[i][3]; };
  std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) { return key(i) < key(j); });

  Picture out{.name = "fan", .data = {.columns = {"row", "x", "y"}}};
  for (const double level : options.quantiles) out.data.columns.push_back(fmt::format("q{}", level));
  Series bands[3] = {{.name = "95% of the mass", .x = {}, .y = {}, .stroke = Stroke::region, .colour = 5},
                     {.name = "80%", .x = {}, .y = {}, .stroke = Stroke::region, .colour = 5},
                     {.name = "50%", .x = {}, .y = {}, .stroke = Stroke::region, .colour = 0}};
  Series median{.name = "median", .x = {}, .y = {}, .stroke = Stroke::line},
      targets{.name = "targets", .x = {}, .y = {}, .stroke = Stroke::points, .colour = 1};
  for (size_t place = 0; place < order.size(); ++place) {
    const size_t i = order[place];
    const double x = along != nullptr ? along->number[chosen[i]] : static_cast<double>(place),
                 y = drawn.rows.targets(drawn.model).row(chosen[i])[0];
    for (size_t b = 0; b < 3; ++b) {
      bands[b].x.push_back(x);
      bands[b].y.push_back(quantiles[i][b]);
    }
    median.x.push_back(x);
    median.y.push_back(quantiles[i][3]);
    targets.x.push_back(x);
    targets.y.push_back(y);
    std::vector<Cell> cells{static_cast<double>(chosen[i]), shortened(x), shortened(y)};
    for (const double q : quantiles[i]) cells.emplace_back(shortened(q));
    out.data.add(std::move(cells));
  }
  // Back along the upper ends.
  for (size_t place = order.size(); place-- > 0;)
    for (size_t b = 0; b < 3; ++b) {
      bands[b].x.push_back(median.x[place]);
      bands[b].y.push_back(quantiles[order[place]][6 - b]);
    }
  out.figure = {.title = "Predictive distributions and targets",
                .panels = {{.title = "",
                            .x = {.label = along != nullptr ? feature : "rows, by their predicted median"},
                            .y = {.label = drawn.model.targets[0]},
                            .series = {bands[0], bands[1], bands[2], median, targets}}}};
  return out;
}

void write_text(const std::string& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace

std::vector<std::string> draw_regressor(const DrawnRegressor& drawn, const std::string& folder,
                                        const std::string& feature, bool quiet) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure)
    throw Error(fmt::format("--draw {}: the folder cannot be created ({})", folder, failure.message()));
  std::vector<Picture> pictures{pit_picture(drawn), coverage_picture(drawn), normalizer_picture(drawn),
                                fan_picture(drawn, feature)};
  if (!feature.empty()) pictures.push_back(heat_picture(drawn, feature));
  std::vector<std::string> files;
  std::string problem;
  for (const Picture& picture : pictures) {
    const std::string base = folder + "/" + picture.name;
    write_text(base + ".csv", csv_text(picture.data));
    files.push_back(base + ".csv");
    if (const std::string found = draw_figure(picture.figure, folder, picture.name); found.empty())
      files.push_back(base + ".svg");
    else
      problem = found;
  }
  if (!problem.empty() && !quiet) warning(problem);
  return files;
}

}  // namespace selfnorm::cli
