#include "regressor_profile.h"

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
constexpr const char* kHeld = "other columns at their median or most frequent level";

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

// What a model says along a feature, and the data beside it.
struct Profile {
  double left = 0, right = 0, low = 0, high = 0;  // of x and y
  std::vector<double> x;
  std::vector<CoordinatePrediction> columns;  // with quantiles of Fan::levels() and a grid
  std::vector<double> data_x, data_y;
};

Profile profile_of(const DrawnRegressor& drawn, const std::string& feature) {
  Profile out;
  const FrameColumn& along = *drawn.frame.find(feature);
  const std::vector<double> sorted = sorted_values(along.number);
  out.left = at(sorted, kOuter);
  out.right = at(sorted, 1 - kOuter);
  if (out.left == out.right) out.left = sorted.front(), out.right = sorted.back();
  for (size_t i = 0; i < kColumns; ++i) out.x.push_back(middle(out.left, out.right, i, kColumns));
  EncodingReport ignored;
  const EncodedFrame inputs = drawn.model.encoder.encode(rows_along(drawn, feature, out.x), ignored);
  predict(drawn.model, inputs.view(), {},
          {.quantiles = Fan::levels(), .intervals = {1 - 2 * kOuter}, .grid = kGrid, .quadrature = {}},
          [&](uint64_t, Prediction&& row) { out.columns.push_back(std::move(row.coordinates[0])); });

  std::vector<double> y;
  for (size_t i = 0; i < drawn.rows.target.size(); i += drawn.model.dimension())
    y.push_back(drawn.rows.target[i]);
  const std::vector<double> sorted_y = sorted_values(y);
  out.low = at(sorted_y, kOuter);
  out.high = at(sorted_y, 1 - kOuter);
  for (const CoordinatePrediction& column : out.columns) {
    out.low = std::min(out.low, column.central[0].from);
    out.high = std::max(out.high, column.central[0].to);
  }
  const double margin = kMargin * (out.high - out.low);
  out.low -= margin;
  out.high += margin;
  for (const uint64_t row : spread_rows(drawn.frame.rows, kShown)) {
    const double x = along.number[row];
    if (!(x >= out.left && x <= out.right && y[row] >= out.low && y[row] <= out.high)) continue;
    out.data_x.push_back(x);
    out.data_y.push_back(y[row]);
  }
  return out;
}

Picture heat_picture(const Profile& profile, const std::string& feature, const std::string& target) {
  std::vector<double> largest;
  for (const CoordinatePrediction& column : profile.columns)
    largest.push_back(*std::max_element(column.grid_density.begin(), column.grid_density.end()));
  const double darkest = at(sorted_values(largest), kDarkest);
  Picture out{.name = "heat", .data = {.columns = {feature, target, "density"}}};
  Panel panel{.title = fmt::format("density, as its square root; {}", kHeld),
              .x = {.label = feature, .low = profile.left, .high = profile.right},
              .y = {.label = target, .low = profile.low, .high = profile.high},
              .series = {},
              .heat = {.columns = kColumns, .rows = kRows}};
  for (size_t j = 0; j < kRows; ++j) {
    const double height = middle(profile.low, profile.high, j, kRows);
    for (size_t i = 0; i < kColumns; ++i) {
      const double density = interpolated(profile.columns[i], height);
      panel.heat.value.push_back(std::sqrt(std::min(1.0, density / darkest)));
      out.data.add({shortened(profile.x[i]), height, shortened(density)});
    }
  }
  panel.series.push_back(
      {.name = "data", .x = profile.data_x, .y = profile.data_y, .stroke = Stroke::points, .colour = 1});
  out.figure = {.title = fmt::format("Predictive density of {} along {}", target, feature),
                .panels = {std::move(panel)}};
  return out;
}

Picture profile_picture(const Profile& profile, const std::string& feature, const std::string& target) {
  Picture out{.name = "profile", .data = {.columns = {feature}}};
  for (const double level : Fan::levels()) out.data.columns.push_back(fmt::format("q{}", level));
  Fan fan{.x = profile.x, .quantiles = {}, .target_x = profile.data_x, .target_y = profile.data_y};
  for (size_t i = 0; i < kColumns; ++i) {
    fan.quantiles.push_back(profile.columns[i].quantiles);
    std::vector<Cell> cells{shortened(profile.x[i])};
    for (const double q : fan.quantiles.back()) cells.emplace_back(q);
    out.data.add(std::move(cells));
  }
  Panel panel = fan_panel(fan, feature, target);
  panel.title = kHeld;
  out.figure = {.title = fmt::format("Predictive distribution of {} along {}", target, feature),
                .panels = {std::move(panel)}};
  return out;
}

Picture data_points(const Profile& profile, const std::string& feature, const std::string& target) {
  Picture out{.name = "points", .data = {.columns = {feature, target}}};
  for (size_t i = 0; i < profile.data_x.size(); ++i)
    out.data.add({shortened(profile.data_x[i]), profile.data_y[i]});
  return out;
}

}  // namespace

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

std::vector<Picture> feature_pictures(const DrawnRegressor& drawn, const std::string& feature) {
  const Profile profile = profile_of(drawn, feature);
  const std::string& target = drawn.model.targets[0];
  return {heat_picture(profile, feature, target), profile_picture(profile, feature, target),
          data_points(profile, feature, target)};
}

}  // namespace selfnorm::cli
