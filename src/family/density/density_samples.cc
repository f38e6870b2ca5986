#include "family/density/density_samples.h"

#include <fmt/format.h>

#include <cmath>

#include "document/histogram.h"
#include "document/picture.h"

namespace selfnorm {
namespace {

constexpr uint64_t kPanels = 6;
constexpr size_t kSampleBars = 30, kWholeSampleBars = 60;
constexpr uint64_t kMeans = 500, kPairColumns = 32;

Figure histograms(const DensityPoints& points, bool is_real) {
  Figure out{.title = "Data and samples by column", .panels = {}};
  const uint64_t most = points.columns == 5 ? 4 : kPanels;  // five panels make no rows
  for (const uint64_t column : spread_rows(points.columns, most)) {
    const auto j = static_cast<uint32_t>(column);
    const std::vector<double> data = points.data_column(j), samples = points.sample_column(j);
    std::vector<double> both = data;
    both.insert(both.end(), samples.begin(), samples.end());
    const Bins bins = is_real ? real_bins(both, kSampleBars) : whole_bins(both, kWholeSampleBars);
    Panel panel{.title = "",
                .x = {.label = points.names[j]},
                .y = {.label = is_real ? "density" : "share", .low = 0},
                .series = {histogram_bars(points.data_name, data, bins)}};
    if (!samples.empty()) panel.series.push_back(histogram_steps("samples", samples, bins));
    out.panels.push_back(std::move(panel));
  }
  out.rows = out.panels.size() > 3 ? 2 : 1;
  return out;
}

// E x_i x_j, or E x_i for i = j.
double moment(const std::vector<float>& rows, uint32_t columns, uint64_t i, uint64_t j) {
  double sum = 0;
  for (size_t row = 0; row < rows.size(); row += columns)
    sum += static_cast<double>(rows[row + i]) * (i == j ? 1 : static_cast<double>(rows[row + j]));
  return sum * columns / static_cast<double>(rows.size());
}

Panel moments_panel(const std::string& title, const std::string& data, const Series& moments) {
  double high = 0;
  for (const std::vector<double>* values : {&moments.x, &moments.y})
    for (const double v : *values) high = std::max(high, v);
  const Series diagonal{
      .name = "equal", .x = {0, high}, .y = {0, high}, .stroke = Stroke::dashed, .colour = 7};
  return {.title = title,
          .x = {.label = data},
          .y = {.label = "samples"},
          .series = {diagonal, moments},
          .equal_units = true};
}

Figure moments_figure(const DensityPoints& points) {
  Series means{.name = "columns", .x = {}, .y = {}, .stroke = Stroke::points};
  Series pairs{.name = "pairs of columns", .x = {}, .y = {}, .stroke = Stroke::points};
  const auto add = [&points](uint64_t i, uint64_t j, const std::string& label, Series& series) {
    series.x.push_back(shortened(moment(points.data, points.columns, i, j)));
    series.y.push_back(shortened(moment(points.samples, points.columns, i, j)));
    series.labels.push_back(label);
  };
  for (const uint64_t i : spread_rows(points.columns, kMeans)) add(i, i, points.names[i], means);
  const std::vector<uint64_t> columns = spread_rows(points.columns, kPairColumns);
  for (size_t a = 0; a < columns.size(); ++a)
    for (size_t b = a + 1; b < columns.size(); ++b)
      add(columns[a], columns[b], points.names[columns[a]] + ", " + points.names[columns[b]], pairs);
  return {.title = "Moments of data and samples",
          .panels = {moments_panel("means", points.data_name, means),
                     moments_panel("means of products", points.data_name, pairs)}};
}

// Two standard errors of the difference of two shares near 1/2.
double chance(const DensityPoints& points) {
  const auto columns = static_cast<double>(points.columns);
  return std::sqrt(columns / static_cast<double>(points.data.size()) +
                   columns / static_cast<double>(points.samples.size()));
}

}  // namespace

ReportFigure samples_figure(const DensityModel& model, const DensityPoints& points) {
  const std::string from =
      points.quality +
      (points.is_trusted || points.samples.empty() ? "." : ", not to be trusted as draws of the model.");
  const Support support = model.energy->support();
  if (support.space == Support::Space::levels && !points.samples.empty())
    return {
        "samples",
        fmt::format("On the dashed line the samples have the moments of the data; of yes and no, distances "
                    "up to {:.2f} are chance. Drawn: {}",
                    chance(points), from),
        moments_figure(points)};
  Figure figure = histograms(points, support.is_real());
  return {
      "samples",
      fmt::format("The steps of the samples should follow the bars of the {} ({} of {} columns). Drawn: {}",
                  points.data_name, figure.panels.size(), points.columns, from),
      std::move(figure)};
}

}  // namespace selfnorm
