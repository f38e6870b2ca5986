#include "family/density/density_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "document/histogram.h"
#include "document/picture.h"
#include "family/density/density_evaluation.h"

namespace selfnorm {
namespace {

constexpr size_t kSide = 96;    // cells of a heat map
constexpr size_t kCurve = 400;  // points of a line
constexpr size_t kBars = 40;
constexpr size_t kWholeBars = 100;
constexpr uint64_t kShown = 500;    // rows of data
constexpr double kDarkest = 0.999;  // share of the cells whose density is not cut

// p(x_i), normalised with log_z.
std::vector<double> densities(const DensityModel& model, double log_z, const std::vector<float>& x) {
  std::vector<double> out =
      density_scores(model, {x.data(), x.size() / model.dimension(), model.dimension()});
  for (double& p : out) p = std::exp(p + model.log_normalizer - log_z);
  return out;
}

// The number that a float is written as.
double as_written(float value) { return std::stod(fmt::format("{}", value)); }

Series scatter(const std::string& name, const std::vector<float>& rows, uint32_t colour) {
  Series out{.name = name, .x = {}, .y = {}, .stroke = Stroke::points, .colour = colour};
  for (size_t i = 0; i + 1 < rows.size(); i += 2) {
    out.x.push_back(as_written(rows[i]));
    out.y.push_back(as_written(rows[i + 1]));
  }
  return out;
}

Panel line_panel(const DensityModel& model, double log_z, const DensityPoints& points) {
  const std::vector<double> data = points.data_column(0);
  const bool is_real = model.energy->support().is_real();
  const Bins bars = is_real ? real_bins(data, kBars) : whole_bins(data, kWholeBars);
  const Bins at = is_real ? real_bins(data, kCurve) : bars;
  Series curve{.name = "model", .x = {}, .y = {}, .stroke = is_real ? Stroke::line : Stroke::line_points};
  std::vector<float> x;
  for (size_t k = 0; k < at.count; ++k)
    x.push_back(static_cast<float>(is_real ? at.middle(k) : std::floor(at.middle(k))));
  for (const float v : x) curve.x.push_back(as_written(v));
  for (const double p : densities(model, log_z, x)) curve.y.push_back(shortened(p));
  Panel panel{.title = "",
              .x = {.label = points.names[0]},
              .y = {.label = is_real ? "density" : "probability", .low = 0},
              .series = {histogram_bars(points.data_name, data, bars)}};
  if (!points.samples.empty())
    panel.series.push_back(histogram_steps("samples", points.sample_column(0), bars));
  panel.series.push_back(std::move(curve));
  return panel;
}

Panel heat_panel(const DensityModel& model, double log_z, const DensityPoints& points) {
  const Bins across = real_bins(points.data_column(0), kSide), up = real_bins(points.data_column(1), kSide);
  std::vector<float> x;
  for (size_t j = 0; j < kSide; ++j)
    for (size_t i = 0; i < kSide; ++i)
      x.insert(x.end(), {static_cast<float>(across.middle(i)), static_cast<float>(up.middle(j))});
  const std::vector<double> p = densities(model, log_z, x);
  std::vector<double> sorted = sorted_numbers(p);
  const double darkest = std::max(at_share(sorted, kDarkest), 1e-300);
  Panel panel{.title = "",
              .x = {.label = points.names[0], .low = across.low, .high = across.edge(kSide)},
              .y = {.label = points.names[1], .low = up.low, .high = up.edge(kSide)},
              .series = {},
              .heat = {.columns = kSide,
                       .rows = kSide,
                       .label = "density",
                       .most = shortened(darkest),
                       .scale = HeatScale::root}};
  for (const double v : p) panel.heat.value.push_back(panel.heat.shade(v));
  panel.series.push_back(scatter(points.data_name, points.some_data(kShown), 1));
  if (!points.samples.empty()) panel.series.push_back(scatter("samples", points.samples, 2));
  return panel;
}

}  // namespace

bool has_density_figure(const DensityModel& model) {
  return model.dimension() == 1 || (model.dimension() == 2 && model.energy->support().is_real());
}

ReportFigure density_figure(const DensityModel& model, const ShownNormalizer& normalizer,
                            const DensityPoints& points) {
  const std::string from =
      fmt::format("Density normalised with {}; {}{}.", normalizer.source, points.quality,
                  points.is_trusted || points.samples.empty() ? "" : ", not to be trusted");
  if (model.dimension() == 1)
    return {
        "density",
        fmt::format("The line of the model should follow the bars of the {} and the steps of the samples. {}",
                    points.data_name, from),
        {.title = "Density and data", .panels = {line_panel(model, normalizer.log_z, points)}}};
  return {
      "density",
      fmt::format("Strong colour where the model puts its mass: the points of the {} should lie there and "
                  "fill it, and samples should look like them. {}",
                  points.data_name, from),
      {.title = "Density and data", .panels = {heat_panel(model, normalizer.log_z, points)}}};
}

}  // namespace selfnorm
