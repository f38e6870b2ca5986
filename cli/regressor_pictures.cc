#include "regressor_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "picture.h"
#include "regressor_profile.h"

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
  double squares = 0;
  for (uint64_t row = 0; row < e.rows; ++row) squares += std::pow(e.b[row] - e.a[row], 2);
  std::vector<uint64_t> shown = spread_rows(e.rows, kShown);
  for (const WorstInput& worst : e.worst) shown.push_back(worst.example);
  std::ranges::sort(shown);
  shown.erase(std::unique(shown.begin(), shown.end()), shown.end());
  for (const uint64_t row : shown) {
    points.x.push_back(e.a[row]);
    points.y.push_back(e.b[row]);
    out.data.add({static_cast<double>(row), shortened(e.a[row]), shortened(e.b[row])});
  }
  const auto [low, high] = std::minmax_element(points.x.begin(), points.x.end());
  const Series diagonal{
      .name = "b = A", .x = {*low, *high}, .y = {*low, *high}, .stroke = Stroke::dashed, .colour = 7};
  out.figure = {.title = "What stands for the log-normalizer, and the log-normalizer",
                .panels = {{.title = fmt::format(
                                "rms(b - A) {:.4f}{}", std::sqrt(squares / static_cast<double>(e.rows)),
                                e.members > 1 ? fmt::format(", the first of {} members", e.members) : ""),
                            .x = {.label = "A(x) by quadrature"},
                            .y = {.label = "b(x)"},
                            .series = {diagonal, points}}}};
  return out;
}

// Rows in the order of their predicted median.
Picture fan_picture(const DrawnRegressor& drawn) {
  const std::vector<uint64_t> chosen = spread_rows(drawn.frame.rows, kShown);
  const EncodedFrame inputs = drawn.rows.inputs.take(chosen);
  std::vector<std::vector<double>> quantiles;
  predict(drawn.model, inputs.view(), {}, {.quantiles = Fan::levels(), .intervals = {}, .quadrature = {}},
          [&](uint64_t, Prediction&& row) { quantiles.push_back(std::move(row.coordinates[0].quantiles)); });
  const size_t middle = Fan::levels().size() / 2;
  std::vector<size_t> order(chosen.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t i, size_t j) { return quantiles[i][middle] < quantiles[j][middle]; });

  Picture out{.name = "fan", .data = {.columns = {"row", "y"}}};
  for (const double level : Fan::levels()) out.data.columns.push_back(fmt::format("q{}", level));
  Fan fan;
  for (const size_t i : order) {
    fan.x.push_back(static_cast<double>(fan.x.size()));
    fan.target_y.push_back(drawn.rows.target[chosen[i] * drawn.model.dimension()]);
    std::vector<Cell> cells{static_cast<double>(chosen[i]), fan.target_y.back()};
    for (const double q : quantiles[i]) cells.emplace_back(q);
    out.data.add(std::move(cells));
    fan.quantiles.push_back(std::move(quantiles[i]));
  }
  fan.target_x = fan.x;
  out.figure = {.title = "Predictive distributions and targets",
                .panels = {fan_panel(fan, "rows, by their predicted median", drawn.model.targets[0])}};
  return out;
}

}  // namespace

std::vector<std::string> draw_regressor(const DrawnRegressor& drawn, const std::string& folder,
                                        const std::string& feature, bool quiet) {
  std::vector<Picture> pictures{pit_picture(drawn), coverage_picture(drawn), normalizer_picture(drawn),
                                fan_picture(drawn)};
  if (!feature.empty())
    for (Picture& picture : feature_pictures(drawn, feature)) pictures.push_back(std::move(picture));
  return write_pictures(pictures, folder, "--draw", quiet);
}

}  // namespace selfnorm::cli
