#include "regressor_heat.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "selfnorm/base/error.h"

namespace selfnorm::cli {
namespace {

constexpr size_t kColumns = 100, kRows = 80;
constexpr uint64_t kShown = 250;  // points of data: each is an element of the picture
constexpr uint64_t kGrid = 400;   // of a column's density, between whose points it is interpolated
constexpr double kOuter = 0.005;  // share of the data beyond either end of an axis
constexpr double kDarkest = 0.9;  // share of the columns whose largest density is not cut
constexpr double kMargin = 0.05;

std::vector<double> sorted_values(const std::vector<double>& values) {
  std::vector<double> sorted;
  for (const double v : values)
    if (!std::isnan(v)) sorted.push_back(v);
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

double at(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<size_t>(std::lround(share * static_cast<double>(sorted.size() - 1)))];
}

uint32_t most_frequent(const FrameColumn& column) {
  std::vector<uint64_t> count(column.levels.size());
  for (const uint32_t level : column.level)
    if (level != kMissingLevel) ++count[level];
  const auto most = std::max_element(count.begin(), count.end());
  return most == count.end() ? kMissingLevel : static_cast<uint32_t>(most - count.begin());
}

// One row a value of the feature, the other columns at their median or most frequent level.
Frame rows_along(const DrawnRegressor& drawn, const std::string& feature, const std::vector<double>& x) {
  Frame out{.file = drawn.frame.file, .rows = x.size()};
  out.line.resize(x.size(), 1);
  for (const std::string& name : drawn.model.encoder.columns()) {
    const FrameColumn& from = *drawn.frame.find(name);
    FrameColumn& column = out.columns.emplace_back(
        FrameColumn{.name = name, .is_numeric = from.is_numeric, .levels = from.levels});
    if (!from.is_numeric) {
      column.level.assign(x.size(), most_frequent(from));
    } else if (name == feature) {
      column.number = x;
    } else {
      const std::vector<double> sorted = sorted_values(from.number);
      column.number.assign(x.size(), sorted.empty() ? NAN : at(sorted, 0.5));
    }
  }
  return out;
}

// Linear between the points of the grid, 0 beyond them.
double interpolated(const CoordinatePrediction& column, double y) {
  const std::vector<double>& grid = column.grid_y;
  if (y < grid.front() || y > grid.back()) return 0;
  const auto above = std::clamp<size_t>(
      static_cast<size_t>(std::lower_bound(grid.begin(), grid.end(), y) - grid.begin()), 1, grid.size() - 1);
  const double share = (y - grid[above - 1]) / (grid[above] - grid[above - 1]);
  return (1 - share) * column.grid_density[above - 1] + share * column.grid_density[above];
}

// Middle of cell i of n cells between two ends.
double middle(double low, double high, size_t i, size_t n) {
  return low + (high - low) * (static_cast<double>(i) + 0.5) / static_cast<double>(n);
}

}  // namespace

std::vector<uint64_t> spread_rows(uint64_t rows, uint64_t most) {
  std::vector<uint64_t> chosen(std::min(rows, most));
  for (size_t i = 0; i < chosen.size(); ++i) chosen[i] = i * rows / chosen.size();
  return chosen;
}

double shortened(double value) { return std::stod(fmt::format("{:.5g}", value)); }

void check_feature(const Regressor& model, const Frame& frame, const std::string& feature) {
  const std::vector<std::string> columns = model.encoder.columns();
  if (std::find(columns.begin(), columns.end(), feature) == columns.end())
    throw Error(fmt::format("--feature {}: the model has no such column; its columns are {}", feature,
                            fmt::join(columns, ", ")));
  const FrameColumn& column = *frame.find(feature);
  if (!column.is_numeric)
    throw Error(fmt::format("--feature {}: the column is categorical, expected numbers", feature));
  const std::vector<double> sorted = sorted_values(column.number);
  if (sorted.empty() || sorted.front() == sorted.back())
    throw Error(fmt::format("--feature {}: found fewer than two values in {}", feature, frame.file));
}

Picture heat_picture(const DrawnRegressor& drawn, const std::string& feature) {
  const FrameColumn& along = *drawn.frame.find(feature);
  const std::vector<double> sorted = sorted_values(along.number);
  double left = at(sorted, kOuter), right = at(sorted, 1 - kOuter);
  if (left == right) left = sorted.front(), right = sorted.back();
  std::vector<double> x(kColumns);
  for (size_t i = 0; i < kColumns; ++i) x[i] = middle(left, right, i, kColumns);

  EncodingReport ignored;
  const EncodedFrame inputs = drawn.model.encoder.encode(rows_along(drawn, feature, x), ignored);
  std::vector<CoordinatePrediction> columns;
  predict(drawn.model, inputs.view(), {nullptr, inputs.rows, drawn.model.dimension()},
          {.quantiles = {kOuter, 1 - kOuter}, .intervals = {}, .grid = kGrid, .quadrature = {}},
          [&](uint64_t, Prediction&& row) { columns.push_back(std::move(row.coordinates[0])); });

  const Points targets = drawn.rows.targets(drawn.model);
  std::vector<double> y;
  for (uint64_t row = 0; row < targets.rows; ++row) y.push_back(targets.row(row)[0]);
  const std::vector<double> sorted_y = sorted_values(y);
  double low = at(sorted_y, kOuter), high = at(sorted_y, 1 - kOuter);
  std::vector<double> largest;
  for (const CoordinatePrediction& column : columns) {
    low = std::min(low, column.quantiles[0]);
    high = std::max(high, column.quantiles[1]);
    largest.push_back(*std::max_element(column.grid_density.begin(), column.grid_density.end()));
  }
  const double margin = kMargin * (high - low), darkest = at(sorted_values(largest), kDarkest);
  low -= margin;
  high += margin;

  Picture out{.name = "heat", .data = {.columns = {feature, drawn.model.targets[0], "density"}}};
  Panel panel{.title = "density, as its square root; other columns at their median or most frequent level",
              .x = {.label = feature, .low = left, .high = right},
              .y = {.label = drawn.model.targets[0], .low = low, .high = high},
              .series = {},
              .heat = {.columns = kColumns, .rows = kRows}};
  for (size_t j = 0; j < kRows; ++j) {
    const double height = middle(low, high, j, kRows);
    for (size_t i = 0; i < kColumns; ++i) {
      const double density = interpolated(columns[i], height);
      panel.heat.value.push_back(std::sqrt(std::min(1.0, density / darkest)));
      out.data.add({shortened(x[i]), shortened(height), shortened(density)});
    }
  }
  Series points{.name = "data", .x = {}, .y = {}, .stroke = Stroke::points, .colour = 1};
  for (const uint64_t row : spread_rows(drawn.frame.rows, kShown)) {
    const double at_x = along.number[row];
    if (!(at_x >= left && at_x <= right && y[row] >= low && y[row] <= high)) continue;
    points.x.push_back(at_x);
    points.y.push_back(y[row]);
  }
  panel.series.push_back(std::move(points));
  out.figure = {.title = fmt::format("Predictive density of {} along {}", drawn.model.targets[0], feature),
                .panels = {std::move(panel)}};
  return out;
}

}  // namespace selfnorm::cli
