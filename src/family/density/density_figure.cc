#include "family/density/density_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "document/picture.h"
#include "family/density/density_evaluation.h"
#include "family/density/density_sample.h"
#include "family/density/interval_rows.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint64_t kMostShownRows = 20'000, kShownSamples = 500;
constexpr double kLeastShownPool = 1000, kMostShownPool = 200'000, kPoolWork = 1e9;  // numbers read
// Evaluations of sixteen chains: 550 transitions of HMC, 8.5 leapfrog steps each, a gradient being worth
// three evaluations; 250 sweeps of Gibbs.
constexpr double kChains = 16, kTransitions = 550 * 8.5 * 3, kSweeps = 250;

double crf_evaluations(const Support& support) {
  return kChains * (support.is_real()
                        ? kTransitions
                        : kSweeps * std::accumulate(support.levels.begin(), support.levels.end(), 0.0));
}

std::vector<double> column_of(const std::vector<float>& rows, uint32_t columns, uint32_t j) {
  std::vector<double> out;
  for (size_t i = j; i < rows.size(); i += columns) out.push_back(static_cast<double>(rows[i]));
  return out;
}

std::string quality_of(const DensitySample& sample) {
  std::string text = fmt::format("{} samples by {}", kShownSamples, sample.method);
  if (sample.r_hat.empty()) return text + fmt::format(" from draws worth {:.0f}", sample.pool_effective);
  return text + fmt::format(" worth {:.0f} or more, R-hat {:.3f} or less",
                            *std::ranges::min_element(sample.effective),
                            *std::ranges::max_element(sample.r_hat));
}

void complete(const DensityModel& model, const PointSource& data, std::span<const uint64_t> rows,
              uint64_t seed, DensityPoints& out) {
  const IntervalPart part = interval_part(data, rows, model.standardisation, model.energy->support());
  if (part.empty()) return;
  std::vector<float> u(out.data.size());
  const Points shown{out.data.data(), rows.size(), out.columns},
      standardised{u.data(), rows.size(), out.columns};
  const bool moves = !model.standardisation.mean.empty();
  if (moves) model.standardisation.apply(shown, u);
  complete_rows(part, *model.proposal, seed, moves ? std::span(u) : std::span(out.data));
  std::vector<float> drawn = out.data;
  if (moves) model.standardisation.undo(standardised, drawn);
  for (size_t i = 0; i < part.rows.size(); ++i)
    for (const IntervalCell& cell : part.rows[i].cells) {
      const size_t k = part.place[i] * out.columns + cell.column;
      out.data[k] = drawn[k];
    }
  out.completed = part.rows.size();
}

void draw(const DensityModel& model, uint64_t seed, DensityPoints& out) {
  const double cost = evaluation_cost(model);
  DensitySampleOptions options{.count = kShownSamples, .seed = seed};
  options.pool = static_cast<uint64_t>(std::clamp(kPoolWork / cost, kLeastShownPool, kMostShownPool));
  const bool has_chains = cost * crf_evaluations(model.energy->support()) <= kAffordableWork;
  if (!has_chains) options.method = "sir";
  try {
    DensitySample sample = sample_density_model(model, options);
    const std::string doubt = sample_doubt(sample, kShownSamples);
    out.samples = std::move(sample.rows);
    out.quality = quality_of(sample);
    out.is_trusted = doubt.empty();
    if (!has_chains && !doubt.empty()) out.quality += ", for chains would take long here";
  } catch (const Error& error) {
    out.quality = fmt::format("no samples: {}", error.what());
    out.is_trusted = false;
  }
}

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

constexpr uint64_t kPanels = 6;
constexpr size_t kSampleBars = 30, kWholeSampleBars = 60;
constexpr uint64_t kMeans = 500, kPairColumns = 32;

Figure histograms(const DensityPoints& points, const Support& support) {
  Figure out{.title = "Data and samples by column", .panels = {}};
  const uint64_t most = points.columns == 5 ? 4 : kPanels;  // five panels make no rows
  for (const uint64_t column : spread_rows(points.columns, most)) {
    const auto j = static_cast<uint32_t>(column);
    const std::vector<double> data = points.data_column(j), samples = points.sample_column(j);
    std::vector<double> both = data;
    both.insert(both.end(), samples.begin(), samples.end());
    const bool is_real = !support.is_whole(j);
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

std::vector<double> DensityPoints::data_column(uint32_t j) const { return column_of(data, columns, j); }
std::vector<double> DensityPoints::sample_column(uint32_t j) const { return column_of(samples, columns, j); }

std::vector<float> DensityPoints::some_data(uint64_t most) const {
  std::vector<float> out;
  const Points rows{data.data(), data.size() / columns, columns};
  for (const uint64_t i : spread_rows(rows.rows, most))
    out.insert(out.end(), rows.row(i).begin(), rows.row(i).end());
  return out;
}

DensityPoints density_points(const DensityModel& model, const PointSource& data, uint64_t seed) {
  DensityPoints out;
  out.columns = data.columns();
  out.names = data.names();
  if (out.names.empty())
    for (uint32_t j = 0; j < out.columns; ++j) out.names.push_back(fmt::format("x{}", j + 1));
  const std::vector<uint64_t> rows = spread_rows(data.rows(), kMostShownRows);
  out.data.resize(rows.size() * out.columns);
  data.read(rows, out.data);
  complete(model, data, rows, seed, out);
  draw(model, seed, out);
  return out;
}

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
  return {"density",
          fmt::format("Strong colour where the model puts its mass: the points of the {} should lie there "
                      "and fill it, and samples should look like them. {}",
                      points.data_name, from),
          {.title = "Density and data", .panels = {heat_panel(model, normalizer.log_z, points)}}};
}

ReportFigure samples_figure(const DensityModel& model, const DensityPoints& points) {
  const std::string from =
      points.quality +
      (points.is_trusted || points.samples.empty() ? "." : ", not to be trusted as draws of the model.");
  const Support support = model.energy->support();
  if (support.space == Support::Space::levels && !points.samples.empty())
    return {"samples",
            fmt::format("On the dashed line the samples have the moments of the data; of yes and no, "
                        "distances up to {:.2f} are chance. Drawn: {}",
                        chance(points), from),
            moments_figure(points)};
  Figure figure = histograms(points, support);
  return {
      "samples",
      fmt::format("The steps of the samples should follow the bars of the {} ({} of {} columns). Drawn: {}",
                  points.data_name, figure.panels.size(), points.columns, from),
      std::move(figure)};
}

}  // namespace selfnorm
