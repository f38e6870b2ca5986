#include "family/regressor/regression_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace selfnorm {
namespace {

constexpr uint64_t kShownPictures = 250;  // rows of a picture: each is an element of it
constexpr std::array<uint64_t, 3> kFanRows{kShownPictures, 60,
                                           20};  // by the dimension of y, whose integrals cost
constexpr double kPicturePrecision = 1e-3;       // of A(x), where y has more than one dimension
constexpr double kUniformDeviations = 2.576;     // 99% of a normal distribution

// Some rows, evenly spread, and the worst.
std::vector<uint64_t> shown_inputs(uint64_t rows, const ErrorAudit& audit) {
  std::vector<uint64_t> out = spread_rows(rows, kShownPictures);
  for (const WorstInput& worst : audit.worst) out.push_back(worst.example);
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Series diagonal(std::string name, double low, double high) {
  return {.name = std::move(name), .x = {low, high}, .y = {low, high}, .stroke = Stroke::dashed, .colour = 7};
}

}  // namespace

const std::vector<double>& Fan::levels() {
  static const std::vector<double> levels{0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975};
  return levels;
}

Panel fan_panel(const Fan& fan, const std::string& x_label, const std::string& y_label) {
  const size_t last = Fan::levels().size() - 1, middle = last / 2;
  Panel panel{.title = "", .x = {.label = x_label}, .y = {.label = y_label}, .series = {}};
  for (size_t b = 0; b < middle; ++b) {
    // There along the lower ends, back along the upper ones.
    Series band{.name = fmt::format("{:.6g}% of the mass", 100 * (1 - 2 * Fan::levels()[b])),
                .x = fan.x,
                .y = {},
                .stroke = Stroke::region,
                .colour = b + 1 < middle ? 5u : 0u};
    band.x.insert(band.x.end(), fan.x.rbegin(), fan.x.rend());
    for (const auto& quantiles : fan.quantiles) band.y.push_back(quantiles[b]);
    for (size_t i = fan.x.size(); i-- > 0;) band.y.push_back(fan.quantiles[i][last - b]);
    panel.series.push_back(std::move(band));
  }
  Series median{.name = "median", .x = fan.x, .y = {}, .stroke = Stroke::line};
  for (const auto& quantiles : fan.quantiles) median.y.push_back(quantiles[middle]);
  panel.series.push_back(std::move(median));
  if (fan.target_x.empty()) return panel;
  panel.series.push_back(
      {.name = "targets", .x = fan.target_x, .y = fan.target_y, .stroke = Stroke::points, .colour = 1});
  return panel;
}

Picture pit_picture(const RegressionEvaluation& evaluation) {
  const std::vector<uint64_t>& count = evaluation.coordinates[0].pit;
  const auto bins = static_cast<double>(count.size());
  const double expected = static_cast<double>(evaluation.rows) / bins;
  Picture out{.name = "pit",
              .look =
                  "Where the targets fell in their predicted distributions: level bars between the dashed "
                  "lines are good; a hump in the middle means predictions too wide, high ends too narrow, "
                  "a slope a bias. Distributions normalised by quadrature.",
              .data = {.columns = {"from", "to", "count", "relative"}}};
  Series bars{
      .name = "share of the rows, times the number of bins", .x = {}, .y = {}, .stroke = Stroke::bars};
  for (size_t k = 0; k < count.size(); ++k) {
    bars.x.push_back(static_cast<double>(k) / bins);
    bars.x_end.push_back(static_cast<double>(k + 1) / bins);
    bars.y.push_back(static_cast<double>(count[k]) / expected);
    bars.labels.push_back(fmt::format("{} rows", count[k]));
    out.data.add({shortened(bars.x[k]), shortened(bars.x_end[k]), static_cast<double>(count[k]),
                  shortened(bars.y[k])});
  }
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

Picture coverage_picture(const RegressionEvaluation& evaluation) {
  Picture out{.name = "coverage",
              .look =
                  "How many targets intervals of each level hold: on the dashed line is good, below it "
                  "intervals are too narrow, above it too wide. Intervals by quadrature.",
              .data = {.columns = {"kind", "level", "inside"}}};
  std::vector<double> level_of;
  for (const double f : evaluation.pit) level_of.push_back(std::abs(2 * f - 1));
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
  for (const Coverage& coverage : evaluation.coordinates[0].coverage) {
    highest.x.push_back(coverage.level);
    highest.y.push_back(coverage.highest_density);
    out.data.add({"highest-density", coverage.level, shortened(coverage.highest_density)});
  }
  out.figure = {.title = "Coverage of intervals",
                .panels = {{.title = "",
                            .x = {.label = "nominal", .low = 0, .high = 1},
                            .y = {.label = "share of the targets inside", .low = 0, .high = 1},
                            .series = {diagonal("calibrated", 0, 1), central, highest}}}};
  return out;
}

NormalizerPairs evaluated_pairs(const RegressionEvaluation& e) {
  NormalizerPairs out{.row = shown_inputs(e.rows, e), .a = {}, .b = {}, .members = e.members};
  for (const uint64_t row : out.row) {
    out.a.push_back(e.a[row]);
    out.b.push_back(e.b[row]);
  }
  double squares = 0;
  for (uint64_t row = 0; row < e.rows; ++row) squares += std::pow(e.b[row] - e.a[row], 2);
  out.rms = std::sqrt(squares / static_cast<double>(e.rows));
  return out;
}

NormalizerPairs audited_pairs(const ShownRows& rows, const NormalizerAudit& audit) {
  NormalizerPairs out{.row = shown_inputs(audit.rows, audit), .a = {}, .b = {}, .rms = audit.log_z.rms};
  const EncodedFrame inputs = rows.inputs.take(out.row);
  predict(rows.model, inputs.view(), {}, {.quantiles = {}, .intervals = {}, .quadrature = {}},
          [&](uint64_t, Prediction&& row) {
            out.a.push_back(row.log_normalizer);
            out.b.push_back(row.normalizer);
          });
  return out;
}

Picture normalizer_picture(const NormalizerPairs& pairs) {
  Picture out{.name = "normalizer",
              .look =
                  "b(x), which stands for the log-normalizer, against A(x) by quadrature: on the dashed "
                  "line log-densities with b(x) are exact; the distance from it is their error in nats.",
              .data = {.columns = {"row", "a", "b"}}};
  Series points{.name = "rows", .x = pairs.a, .y = pairs.b, .stroke = Stroke::points};
  for (size_t i = 0; i < pairs.row.size(); ++i) {
    points.labels.push_back(fmt::format("row {}", pairs.row[i]));
    out.data.add({static_cast<double>(pairs.row[i]), shortened(pairs.a[i]), shortened(pairs.b[i])});
  }
  const auto [low, high] = std::minmax_element(points.x.begin(), points.x.end());
  out.figure = {
      .title = "What stands for the log-normalizer, and the log-normalizer",
      .panels = {{.title = fmt::format(
                      "rms(b - A) {:.4f}{}", pairs.rms,
                      pairs.members > 1 ? fmt::format(", the first of {} members", pairs.members) : ""),
                  .x = {.label = "A(x) by quadrature"},
                  .y = {.label = "b(x)"},
                  .series = {diagonal("b = A", *low, *high), points}}}};
  return out;
}

PredictionOptions picture_options(const Regressor& model) {
  PredictionOptions options{.quantiles = {}, .intervals = {}, .quadrature = {}};
  if (model.dimension() > 1) options.quadrature.precision = kPicturePrecision;
  return options;
}

Picture fan_picture(const ShownRows& rows) {
  const std::vector<uint64_t> chosen = spread_rows(rows.inputs.rows, kFanRows[rows.model.dimension() - 1]);
  const EncodedFrame inputs = rows.inputs.take(chosen);
  std::vector<std::vector<double>> quantiles;
  PredictionOptions options = picture_options(rows.model);
  options.quantiles = Fan::levels();
  predict(rows.model, inputs.view(), {}, options,
          [&](uint64_t, Prediction&& row) { quantiles.push_back(std::move(row.coordinates[0].quantiles)); });
  const size_t middle = Fan::levels().size() / 2;
  std::vector<size_t> order(chosen.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t i, size_t j) { return quantiles[i][middle] < quantiles[j][middle]; });

  const bool has_targets = !rows.target.empty();
  Picture out{.name = "fan",
              .look = has_targets ? "Predictions of single rows, by quadrature: the median should follow the "
                                    "targets, and of 20 targets one may lie outside the widest band."
                                  : "Predictions of single rows, by quadrature: the median, and bands that "
                                    "are narrow where the model is sure.",
              .data = {.columns = {"row"}}};
  if (has_targets) out.data.columns.push_back("y");
  for (const double level : Fan::levels()) out.data.columns.push_back(fmt::format("q{}", level));
  Fan fan;
  for (const size_t i : order) {
    fan.x.push_back(static_cast<double>(fan.x.size()));
    std::vector<Cell> cells{static_cast<double>(chosen[i])};
    if (has_targets) {
      fan.target_y.push_back(rows.target[chosen[i] * rows.model.dimension()]);
      cells.emplace_back(fan.target_y.back());
    }
    for (const double q : quantiles[i]) cells.emplace_back(q);
    out.data.add(std::move(cells));
    fan.quantiles.push_back(std::move(quantiles[i]));
  }
  if (has_targets) fan.target_x = fan.x;
  out.figure = {.title = "Predictive distributions of rows",
                .panels = {fan_panel(fan, "rows, by their predicted median", rows.model.targets[0])}};
  return out;
}

}  // namespace selfnorm
