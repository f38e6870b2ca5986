
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "family/regressor/regression_pictures.h"

namespace selfnorm {
namespace {

constexpr size_t kProfileRows = 80;
// By the dimension of y, whose integrals cost: columns of a picture, and columns of the data that are tried.
constexpr std::array<size_t, 3> kProfileColumns{100, 40, 20};
constexpr std::array<uint64_t, 3> kMostTried{64, 8, 2};
constexpr uint64_t kShownProfiles = 250;  // points of data: each is an element of the picture
constexpr uint64_t kGrid = 400;           // of a column's density, between whose points it is interpolated
constexpr double kBeyondShare = 0.005;    // share of the data beyond either end of an axis
constexpr double kDarkestProfile = 0.9;   // share of the columns whose largest density is not cut
constexpr double kProfileMargin = 0.05;
constexpr std::array kTried{0.05, 0.275, 0.5, 0.725, 0.95};  // shares of a column's values below them
constexpr const char* kHeld = "other columns at their median or most frequent level";

uint32_t most_frequent(const FrameColumn& column) {
  std::vector<uint64_t> count(column.levels.size());
  for (const uint32_t level : column.level)
    if (level != kMissingLevel) ++count[level];
  const auto most = std::max_element(count.begin(), count.end());
  return most == count.end() ? kMissingLevel : static_cast<uint32_t>(most - count.begin());
}

// Rows with every column of the model at its median or most frequent level.
Frame held_rows(const ShownRows& rows, size_t count) {
  Frame out{.file = rows.frame.file, .rows = count};
  out.line.resize(count, 1);
  for (const std::string& name : rows.model.encoder.columns()) {
    const FrameColumn& from = *rows.frame.find(name);
    FrameColumn& column = out.columns.emplace_back(
        FrameColumn{.name = name, .is_numeric = from.is_numeric, .levels = from.levels});
    if (from.is_numeric) {
      const std::vector<double> sorted = sorted_numbers(from.number);
      column.number.assign(count, sorted.empty() ? NAN : at_share(sorted, 0.5));
    } else {
      column.level.assign(count, most_frequent(from));
    }
  }
  return out;
}

FrameColumn& column_of(Frame& frame, const std::string& name) {
  return *std::ranges::find(frame.columns, name, &FrameColumn::name);
}

std::vector<CoordinatePrediction> predicted(const ShownRows& rows, const Frame& frame,
                                            const PredictionOptions& options) {
  EncodingReport ignored;
  const EncodedFrame inputs = rows.model.encoder.encode(frame, ignored);
  std::vector<CoordinatePrediction> out;
  predict(rows.model, inputs.view(), {}, options,
          [&](uint64_t, Prediction&& row) { out.push_back(std::move(row.coordinates[0])); });
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

Profile profile_of(const ShownRows& rows, const std::string& feature) {
  Profile out;
  const FrameColumn& along = *rows.frame.find(feature);
  const std::vector<double> sorted = sorted_numbers(along.number);
  out.left = at_share(sorted, kBeyondShare);
  out.right = at_share(sorted, 1 - kBeyondShare);
  if (out.left == out.right) out.left = sorted.front(), out.right = sorted.back();
  const size_t columns = kProfileColumns[rows.model.dimension() - 1];
  for (size_t i = 0; i < columns; ++i) out.x.push_back(middle(out.left, out.right, i, columns));
  Frame frame = held_rows(rows, columns);
  column_of(frame, feature).number = out.x;
  PredictionOptions options = picture_options(rows.model);
  options.quantiles = Fan::levels();
  options.intervals = {1 - 2 * kBeyondShare};
  options.grid = kGrid;
  out.columns = predicted(rows, frame, options);

  std::vector<double> y;
  for (size_t i = 0; i < rows.target.size(); i += rows.model.dimension()) y.push_back(rows.target[i]);
  out.low = HUGE_VAL;
  out.high = -HUGE_VAL;
  if (const std::vector<double> sorted_y = sorted_numbers(y); !sorted_y.empty()) {
    out.low = at_share(sorted_y, kBeyondShare);
    out.high = at_share(sorted_y, 1 - kBeyondShare);
  }
  for (const CoordinatePrediction& column : out.columns) {
    out.low = std::min(out.low, column.central[0].from);
    out.high = std::max(out.high, column.central[0].to);
  }
  const double margin = kProfileMargin * (out.high - out.low);
  out.low -= margin;
  out.high += margin;
  for (const uint64_t row : spread_rows(y.size(), kShownProfiles)) {
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
  const double darkest = at_share(sorted_numbers(largest), kDarkestProfile);
  Picture out{.name = "heat",
              .look = fmt::format("Strong colour where the model expects {}: the points should lie there and "
                                  "fill it, but for what the other columns explain. Density by quadrature.",
                                  target),
              .data = {.columns = {feature, target, "density"}}};
  Panel panel{.title = kHeld,
              .x = {.label = feature, .low = profile.left, .high = profile.right},
              .y = {.label = target, .low = profile.low, .high = profile.high},
              .series = {},
              .heat = {.columns = profile.x.size(),
                       .rows = kProfileRows,
                       .label = "density",
                       .most = shortened(darkest),
                       .scale = HeatScale::root}};
  for (size_t j = 0; j < kProfileRows; ++j) {
    const double height = middle(profile.low, profile.high, j, kProfileRows);
    for (size_t i = 0; i < profile.x.size(); ++i) {
      const double density = interpolated(profile.columns[i], height);
      panel.heat.value.push_back(panel.heat.shade(density));
      out.data.add({shortened(profile.x[i]), height, shortened(density)});
    }
  }
  if (!profile.data_x.empty())
    panel.series.push_back(
        {.name = "data", .x = profile.data_x, .y = profile.data_y, .stroke = Stroke::points, .colour = 1});
  out.figure = {.title = fmt::format("Predictive density of {} along {}", target, feature),
                .panels = {std::move(panel)}};
  return out;
}

Picture profile_picture(const Profile& profile, const std::string& feature, const std::string& target) {
  Picture out{.name = "profile",
              .look =
                  "Median and bands by quadrature: where the data bend or spread, so should they; the points "
                  "vary in the other columns too.",
              .data = {.columns = {feature}}};
  for (const double level : Fan::levels()) out.data.columns.push_back(fmt::format("q{}", level));
  Fan fan{.x = profile.x, .quantiles = {}, .target_x = profile.data_x, .target_y = profile.data_y};
  for (size_t i = 0; i < profile.x.size(); ++i) {
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

std::vector<Picture> feature_pictures(const ShownRows& rows, const std::string& feature) {
  const Profile profile = profile_of(rows, feature);
  const std::string& target = rows.model.targets[0];
  std::vector<Picture> out{heat_picture(profile, feature, target), profile_picture(profile, feature, target)};
  if (!rows.target.empty()) out.push_back(data_points(profile, feature, target));
  return out;
}

std::string telling_feature(const ShownRows& rows) {
  std::vector<std::string> names;
  std::vector<std::vector<double>> values;
  for (const std::string& name : rows.model.encoder.columns()) {
    const FrameColumn& column = *rows.frame.find(name);
    std::vector<double> sorted = sorted_numbers(column.number);
    if (!column.is_numeric || sorted.empty() || sorted.front() == sorted.back()) continue;
    names.push_back(name);
    values.emplace_back();
    for (const double share : kTried) values.back().push_back(at_share(sorted, share));
  }
  const std::vector<uint64_t> tried = spread_rows(names.size(), kMostTried[rows.model.dimension() - 1]);
  if (tried.size() <= 1) return tried.empty() ? "" : names[0];
  Frame frame = held_rows(rows, tried.size() * kTried.size());
  for (size_t i = 0; i < tried.size(); ++i)
    std::ranges::copy(values[tried[i]], column_of(frame, names[tried[i]]).number.begin() +
                                            static_cast<std::ptrdiff_t>(i * kTried.size()));
  const std::vector<CoordinatePrediction> along = predicted(rows, frame, picture_options(rows.model));
  size_t best = 0;
  double farthest = -1;
  for (size_t i = 0; i < tried.size(); ++i) {
    const auto [least, most] = std::ranges::minmax(std::span(along).subspan(i * kTried.size(), kTried.size()),
                                                   {}, &CoordinatePrediction::median);
    if (most.median - least.median > farthest) best = i, farthest = most.median - least.median;
  }
  return names[tried[best]];
}

}  // namespace selfnorm
