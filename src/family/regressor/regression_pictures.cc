#include "family/regressor/regression_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "selfnorm/error.h"

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

namespace {

constexpr double kCardLevel = 0.9;  // of the intervals whose coverage has a card
constexpr const char* kQuadrature = "predictive distributions by quadrature";

ReportCard target_card(const std::string& id, const std::string& label, double number,
                       const std::string& source) {
  if (!std::isfinite(number)) return {id, label, "infinite", std::nullopt, source};
  return {id, label, fmt::format("{:.4f}", number), number, source};
}

// Units of the data may be of any size.
ReportCard unit_card(const std::string& id, const std::string& label, double number) {
  return {id, label, fmt::format("{:.5g}", number), number, kQuadrature};
}

void add_names(const Regressor& model, const std::string& data, uint64_t rows, ReportDocument& document) {
  const auto objective = nlohmann::json::parse(model.objective_json);
  std::string kind = "regressor";
  if (objective.contains("name")) kind += ", " + objective["name"].get<std::string>();
  if (model.members.size() > 1) kind += fmt::format(", {} members", model.members.size());
  document.cards.push_back({"model", "Model", kind, std::nullopt, "b(x) " + model.normalizer_kind});
  document.cards.push_back({"data", "Data", data, std::nullopt, ""});
  document.cards.push_back({"inputs", "Rows", fmt::format("{}", rows), static_cast<double>(rows), ""});
}

std::string likelihood_source(const RegressionEvaluation& e) {
  if (e.outside + e.zero_density > 0)
    return fmt::format("{} targets outside the support and {} where the density is 0", e.outside,
                       e.zero_density);
  return fmt::format("A(x) by quadrature, its error {:.1e} at most; +- {:.4f} over the rows",
                     e.quadrature_error, e.nll_error);
}

void add_rms(const ErrorAudit& audit, uint64_t members, ReportDocument& document) {
  document.cards.push_back(target_card("rms_log_z", members > 1 ? "rms error with b(x)" : "rms(b - A)",
                                       audit.log_z.rms, "b(x) against A(x) by quadrature"));
}

void add_certificate(const Certificate& certificate, RowsPart part, ReportDocument& document) {
  if (part == RowsPart::kTrained) {
    document.cards.push_back({"certificate", "Certificate of the normalizer",
                              "none: the model was trained on these rows", std::nullopt, ""});
    document.notes.push_back(
        "The model was trained on the rows shown, so they tell nothing about other rows and nothing is "
        "certified; 'selfnorm audit' takes others, and --test FILE of training.");
    return;
  }
  document.cards.push_back(certificate_card(
      certificate, "amortised",
      certificate_source(
          "of b(x) in the place of log Z, not of calibration; A(x) by quadrature, its error counted", part)));
  if (part == RowsPart::kChoseStep)
    document.notes.push_back(
        "The step of training that did best on the rows shown was kept, so likelihood and certificate are a "
        "little optimistic.");
}

// Of rows that were trained on there is no certified band.
ErrorAudit shown_errors(const ErrorAudit& audit, RowsPart part) {
  ErrorAudit out = audit;
  if (part == RowsPart::kTrained) out.certificate.smallest_eps.reset();
  return out;
}

void add_cards(const std::vector<std::string>& targets, const RegressionEvaluation& e, RowsPart part,
               ReportDocument& document) {
  document.cards.push_back(target_card("nll_exact", "NLL, exact", e.nll, likelihood_source(e)));
  document.cards.push_back(target_card("nll_amortised", "NLL with b(x)", e.nll_b, "b(x)"));
  add_rms(e, e.members, document);
  const CoordinateEvaluation& first = e.coordinates[0];
  document.cards.push_back(unit_card("crps", fmt::format("CRPS of {}", targets[0]), first.crps));
  document.cards.push_back(unit_card("rmse", fmt::format("RMSE of {}", targets[0]), first.rmse));
  for (const Coverage& coverage : first.coverage)
    if (coverage.level == kCardLevel)
      document.cards.push_back({"coverage_90", "Targets in central 90% intervals",
                                fmt::format("{:.1f}%", 100 * coverage.central), coverage.central,
                                kQuadrature});
  add_certificate(e.certificate, part, document);
  if (const std::string doubt = coverage_doubt(e, targets); !doubt.empty() && part != RowsPart::kTrained)
    document.notes.push_back("Not calibrated: " + doubt + ".");
  if (e.imprecise > 0)
    document.notes.push_back(
        fmt::format("The error of A(x) is larger than the precision asked for on {} rows.", e.imprecise));
}

ReportTable targets_table(const std::vector<std::string>& targets, const RegressionEvaluation& e) {
  Table table{.caption = "Predictions of every target",
              .columns = {"target", "CRPS", "RMSE", "MAE", "PIT distance"}};
  for (const Coverage& coverage : e.coordinates[0].coverage)
    table.columns.push_back(fmt::format("in central {:.6g}%", 100 * coverage.level));
  for (size_t j = 0; j < targets.size(); ++j) {
    const CoordinateEvaluation& c = e.coordinates[j];
    std::vector<Cell> cells{targets[j], c.crps, c.rmse, c.mae, c.pit_deviation};
    for (const Coverage& coverage : c.coverage) cells.emplace_back(coverage.central);
    table.add(std::move(cells));
  }
  return {"targets",
          "Small errors are good (CRPS, RMSE and MAE in the units of the target), and shares of targets "
          "inside intervals that are those of the intervals; all by quadrature.",
          std::move(table)};
}

void add_predictions(const ShownRows& rows, ReportDocument& document) {
  ReportSection& section = document.section("Predictions");
  try {
    section.figures.push_back(shown(fan_picture(rows)));
    const std::string feature = telling_feature(rows);
    if (feature.empty()) return;
    for (Picture& picture : feature_pictures(rows, feature))
      if (!picture.figure.panels.empty()) section.figures.push_back(shown(std::move(picture)));
  } catch (const Error& error) {
    document.notes.push_back(fmt::format("Not all predictions could be drawn: {}", error.what()));
  }
}

}  // namespace

void add_regression(const ShownRows& rows, const RegressionEvaluation& evaluation,
                    const RegressionNames& names, ReportDocument& document) {
  add_names(rows.model, names.data, evaluation.rows, document);
  add_cards(rows.model.targets, evaluation, names.part, document);
  add_predictions(rows, document);
  document.section("Predictions").tables.push_back(targets_table(rows.model.targets, evaluation));
  ReportSection& calibration = document.section("Calibration");
  calibration.figures.push_back(shown(pit_picture(evaluation)));
  calibration.figures.push_back(shown(coverage_picture(evaluation)));
  ErrorAudit errors = shown_errors(evaluation, names.part);
  NormalizerPairs pairs = evaluated_pairs(evaluation);
  if (!names.places.empty()) {
    for (WorstInput& worst : errors.worst) worst.example = names.places.at(worst.example);
    for (uint64_t& row : pairs.row) row = names.places.at(row);
  }
  add_errors(errors, "amortised", document);
  document.section("Normalisation").figures.push_back(shown(normalizer_picture(pairs)));
}

void add_regression_inputs(const ShownRows& rows, const NormalizerAudit& audit, const RegressionNames& names,
                           ReportDocument& document) {
  add_names(rows.model, names.data, audit.rows, document);
  add_rms(audit, 1, document);
  add_certificate(audit.certificate, names.part, document);
  add_predictions(rows, document);
  add_errors(shown_errors(audit, names.part), "amortised", document);
  document.section("Normalisation").figures.push_back(shown(normalizer_picture(audited_pairs(rows, audit))));
}

}  // namespace selfnorm
