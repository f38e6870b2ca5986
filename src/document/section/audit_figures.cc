#include "document/section/audit_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "data/string_index.h"
#include "document/point_cloud.h"

namespace selfnorm {
namespace {

constexpr uint32_t kBand = 2, kQuantile = 1, kReference = 7;  // colours
constexpr double kRounding = 1e-5;                            // of norms, relative
constexpr double kMostConfident = 2;      // mean "probabilities" beyond it are drawn there
constexpr double kNear = 3;               // 0 is shown when it is no further away than this many widths
constexpr double kLargestExponent = 690;  // exp of it, and of its negative, is a normal number

// `range` with 0, when it is near.
ShownRange with_zero(ShownRange range) {
  const double reach = kNear * (range.high - range.low);
  if (!ShownRange{range.low - reach, range.high + reach}.holds(0)) return range;
  const double margin = 0.03 * (range.high - range.low);
  return {range.low <= 0 ? range.low : -margin, range.high >= 0 ? range.high : margin};
}

std::string thinned_title(const std::string& title, const Audit& audit) {
  return audit.sample_stride == 1 ? title
                                  : fmt::format("{} (one of every {} inputs)", title, audit.sample_stride);
}

double probability(double log_probability) {
  return std::exp(std::clamp(log_probability, -kLargestExponent, kLargestExponent));
}

// e of the sample over x, and a line at 0 where it is in the picture.
Panel error_panel(const Audit& audit, std::vector<double> x, Axis axis, const ErrorNames& names) {
  PointCloud cloud{.name = "inputs", .x = std::move(x), .y = {}, .example = {}};
  for (const AuditedInput& input : audit.sample) {
    cloud.y.push_back(input.error);
    cloud.example.push_back(input.example);
  }
  const ShownRange range = with_zero(shown_range(cloud.y, false));
  Panel panel{.title = "",
              .x = std::move(axis),
              .y = {.label = names.axis, .low = range.low, .high = range.high},
              .series = {}};
  panel.x.logarithmic = spans_decades(cloud.x);
  draw_cloud(cloud, panel);
  if (range.holds(0))
    panel.series.push_back({.name = "0: exact",
                            .x = {*panel.x.low, *panel.x.high},
                            .y = {0, 0},
                            .stroke = Stroke::dashed,
                            .colour = kReference});
  return panel;
}

Series calibration_series(const std::vector<CalibrationBin>& bins, const std::string& name, uint32_t colour) {
  Series out{.name = name, .x = {}, .y = {}, .stroke = Stroke::marks, .colour = colour};
  for (const CalibrationBin& bin : bins) {
    if (bin.count == 0) continue;
    const double n = static_cast<double>(bin.count), share = (bin.accuracy * n + 1) / (n + 2);
    out.x.push_back(std::min(bin.confidence, kMostConfident));
    out.y.push_back(bin.accuracy);
    out.error.push_back(std::sqrt(share * (1 - share) / (n + 3)));
    out.labels.push_back(fmt::format("{} input{}", bin.count, bin.count == 1 ? "" : "s"));
    if (bin.confidence > kMostConfident)
      out.labels.back() += fmt::format(", mean \"probability\" {}", written(bin.confidence));
  }
  return out;
}

Cell output_name(uint64_t output, const ClassNames& labels) {
  if (output < labels.size()) return shown_label(labels[output]);
  return static_cast<double>(output);
}

}  // namespace

ReportFigure error_histogram(const ErrorAudit& audit, const ErrorNames& names) {
  Series bars{.name = "inputs", .x = {}, .y = {}, .stroke = Stroke::bars};
  const ShownRange whole = widened({audit.histogram.front().from, audit.histogram.back().to}, false);
  for (size_t i = 0; i < audit.histogram.size(); ++i) {
    const HistogramBin& bin = audit.histogram[i];
    const bool is_first = i == 0, is_last = i + 1 == audit.histogram.size();
    bars.x.push_back(is_first ? whole.low : bin.from);
    bars.x_end.push_back(is_last ? whole.high : bin.to);
    bars.y.push_back(static_cast<double>(bin.count));
    bars.labels.push_back(is_first == is_last ? ""
                          : is_first          ? "this and everything below"
                                              : "this and everything above");
  }
  ShownRange range = with_zero(whole);
  std::string look = fmt::format(
      "How far {} scores are from log-probabilities, by the log Z of every input: good is a narrow peak at 0",
      names.kind);
  std::vector<Series> series;
  const Certificate& c = audit.certificate;
  if (!range.holds(0)) {
    look += ", which is too far away to be in the picture";
  } else if (c.smallest_eps && *c.smallest_eps > 0) {
    const double eps = *c.smallest_eps, reach = kNear * (whole.high - whole.low);
    range = {std::min(range.low, std::max(-eps, whole.low - reach)),
             std::max(range.high, std::min(eps, whole.high + reach))};
    series.push_back({.name = fmt::format("certified: {} of inputs, {} confidence", percent(1 - c.rho),
                                          percent(c.confidence)),
                      .x = {-eps},
                      .y = {0},
                      .stroke = Stroke::bands,
                      .colour = kBand,
                      .x_end = {eps}});
    look += ", inside a narrow certified band";
  }
  series.push_back(std::move(bars));
  series.push_back({.name = "1%, 50% and 99% quantiles",
                    .x = {audit.log_z.q01, audit.log_z.q50, audit.log_z.q99},
                    .y = {0, 0, 0},
                    .stroke = Stroke::rules,
                    .colour = kQuantile,
                    .labels = {"1% quantile", "median", "99% quantile"}});
  if (range.holds(0))
    series.push_back({.name = "0: exact", .x = {0}, .y = {0}, .stroke = Stroke::rules, .colour = kReference});
  return {.id = "log_z_histogram",
          .look = look + ".",
          .figure = {.title = "Errors of " + names.kind + " log-probabilities",
                     .panels = {{.title = "",
                                 .x = {.label = names.axis, .low = range.low, .high = range.high},
                                 .y = {.label = "inputs", .low = 0},
                                 .series = std::move(series)}}}};
}

std::optional<double> only_norm(const Audit& audit) {
  const auto [low, high] = std::ranges::minmax(audit.sample, {}, &AuditedInput::norm);
  const bool is_one = high.norm - low.norm <= kRounding * high.norm;
  return is_one && audit.sample.size() > 1 ? std::optional(high.norm) : std::nullopt;
}

ReportFigure error_by_norm(const Audit& audit, const ErrorNames& names, const std::string& norm) {
  std::vector<double> norms;
  for (const AuditedInput& input : audit.sample) norms.push_back(input.norm);
  return {.id = "log_z_norm",
          .look =
              "Good is a flat cloud about 0; a slope or a wider cloud at one end means that scores of small "
              "or large inputs cannot be trusted without normalising.",
          .figure = {.title = thinned_title("Error against the " + norm, audit),
                     .panels = {error_panel(audit, std::move(norms), {.label = norm}, names)}}};
}

ReportFigure error_by_confidence(const Audit& audit, const ErrorNames& names) {
  std::vector<double> confidences;
  for (const AuditedInput& input : audit.sample) confidences.push_back(probability(input.best_exact));
  Axis axis{.label = "exact probability of the best output", .high = 1};
  if (!spans_decades(confidences)) axis.low = 0;
  return {.id = "log_z_confidence",
          .look =
              "Good is a flat cloud about 0; errors that grow to the left mean that uncertain inputs are the "
              "badly normalised ones, errors that grow to the right, the certain ones.",
          .figure = {.title = thinned_title("Error against confidence", audit),
                     .panels = {error_panel(audit, std::move(confidences), std::move(axis), names)}}};
}

ReportFigure audited_by_exact(const Audit& audit, const ErrorNames& names) {
  const bool of_target = std::all_of(audit.sample.begin(), audit.sample.end(), [](const AuditedInput& input) {
    return !std::isnan(input.target_exact);
  });
  PointCloud cloud{.name = "inputs", .x = {}, .y = {}, .example = {}};
  for (const AuditedInput& input : audit.sample) {
    cloud.x.push_back(probability(of_target ? input.target_exact : input.best_exact));
    cloud.y.push_back(probability(of_target ? input.target_audited() : input.best_audited()));
    cloud.example.push_back(input.example);
  }
  std::vector<double> both = cloud.x;
  both.insert(both.end(), cloud.y.begin(), cloud.y.end());
  const bool is_logarithmic = spans_decades(both);
  const ShownRange x = shown_range(cloud.x, is_logarithmic), y = shown_range(cloud.y, is_logarithmic);
  const double low = is_logarithmic ? std::min(x.low, y.low) : 0;
  const auto axis = [&](const std::string& kind, double high) {
    return Axis{.label = fmt::format("{} probability of the {} output", kind, of_target ? "true" : "best"),
                .logarithmic = is_logarithmic,
                .low = low,
                .high = high};
  };
  Panel panel{.title = "", .x = axis("exact", 1), .y = axis(names.kind, std::max(y.high, 1.0)), .series = {}};
  draw_cloud(cloud, panel);
  panel.series.push_back(
      {.name = "equal", .x = {low, 1}, .y = {low, 1}, .stroke = Stroke::dashed, .colour = kReference});
  return {.id = "raw_exact",
          .look = fmt::format("Good is the diagonal: {0} probabilities are the exact ones; above it they are "
                              "too large, below it too small, and above 1 they are no probabilities.",
                              names.kind),
          .figure = {.title = thinned_title(fmt::format("{} against exact probability",
                                                        names.kind == "raw" ? "Raw" : "Amortised"),
                                            audit),
                     .panels = {std::move(panel)}}};
}

ReportFigure reliability(const LabelledAudit& labelled, const ErrorNames& names) {
  Panel panel{
      .title = "",
      .x = {.label = "mean probability of the best output", .low = 0},
      .y = {.label = "share that is correct", .low = 0, .high = 1},
      .series = {
          {.name = "calibrated", .x = {0, 1}, .y = {0, 1}, .stroke = Stroke::dashed, .colour = kReference},
          calibration_series(labelled.bins, names.kind + " probabilities", 0),
          calibration_series(labelled.bins_exact, "exact probabilities", 1)}};
  if (labelled.bins.back().confidence > kMostConfident)
    panel.x.label += fmt::format(" ({} stands for all beyond)", kMostConfident);
  return {.id = "reliability",
          .look =
              "Good are marks on the diagonal, within their error bars: outputs given a probability of 80% "
              "are correct in 80% of cases; marks below it are overconfident.",
          .figure = {.title = "Reliability", .panels = {std::move(panel)}}};
}

ReportFigure rejection(const LabelledAudit& labelled) {
  Series answered{.name = "answered", .x = {}, .y = {}, .stroke = Stroke::line_points, .colour = 0};
  Series correct{
      .name = "correct among the answered", .x = {}, .y = {}, .stroke = Stroke::line_points, .colour = 1};
  double all = 0, count = 0, right = 0;
  for (const CalibrationBin& bin : labelled.bins_exact) all += static_cast<double>(bin.count);
  for (auto bin = labelled.bins_exact.rbegin(); bin != labelled.bins_exact.rend(); ++bin) {
    count += static_cast<double>(bin->count);
    right += static_cast<double>(bin->count) * bin->accuracy;
    if (count == 0) continue;
    for (Series* series : {&answered, &correct}) series->x.insert(series->x.begin(), bin->from);
    answered.y.insert(answered.y.begin(), count / all);
    correct.y.insert(correct.y.begin(), right / count);
  }
  Panel panel{.title = "",
              .x = {.label = "smallest exact probability that is answered", .low = 0, .high = 1},
              .y = {.label = "share", .low = 0, .high = 1},
              .series = {std::move(answered), std::move(correct)}};
  return {.id = "rejection",
          .look =
              "Choose the threshold at which enough of the answers are correct, and read how many inputs are "
              "still answered; the others go to a person.",
          .figure = {.title = "Rejecting uncertain inputs", .panels = {std::move(panel)}}};
}

ReportTable class_table(const Confusion& confusion, const AuditNames& names) {
  constexpr size_t kClassesShown = 200;
  std::vector<uint32_t> order;
  for (uint32_t k = 0; k < confusion.classes.size(); ++k)
    if (confusion.classes[k].inputs + confusion.classes[k].predicted > 0) order.push_back(k);
  std::ranges::stable_sort(order, [&](uint32_t a, uint32_t b) {
    return confusion.classes[a].inputs > confusion.classes[b].inputs;
  });
  const size_t all = order.size();
  order.resize(std::min(kClassesShown, all));
  Table table{.caption = "Precision and recall",
              .columns = {"class", "inputs", "predicted", "precision", "recall"}};
  const auto share = [](uint64_t part, uint64_t whole) {
    return whole == 0 ? Cell("") : Cell(static_cast<double>(part) / static_cast<double>(whole));
  };
  for (const uint32_t k : order) {
    const ClassCounts& c = confusion.classes[k];
    table.add({output_name(k, names.labels), static_cast<double>(c.inputs), static_cast<double>(c.predicted),
               share(c.correct, c.predicted), share(c.correct, c.inputs)});
  }
  return {.id = "classes",
          .look = fmt::format("Sort by a heading to find the weak classes{}.",
                              all > kClassesShown
                                  ? fmt::format("; the {} most frequent of {} are here", kClassesShown, all)
                                  : ""),
          .table = std::move(table)};
}

ReportTable confusion_table(const Confusion& confusion, const AuditNames& names) {
  Table table{.caption = "Confused pairs",
              .columns = {"true class", "taken for", "inputs", "share of the class"}};
  for (const ConfusedPair& pair : confusion.pairs)
    table.add({output_name(pair.truth, names.labels), output_name(pair.predicted, names.labels),
               static_cast<double>(pair.count),
               static_cast<double>(pair.count) / static_cast<double>(confusion.classes[pair.truth].inputs)});
  return {
      .id = "confusions",
      .look = "The classes that are taken for each other most: more data, or one label for both, helps here.",
      .table = std::move(table)};
}

ReportTable quantile_table(const ErrorAudit& audit, const ErrorNames& names) {
  Table table{.caption = "Quantiles of the error", .columns = {"inputs at or below, %", names.error}};
  for (const auto& [q, value] : audit.quantiles) table.add({100 * q, value + 0.0});
  return {.id = "log_z_quantiles",
          .look = fmt::format(
              "Good are small numbers of both signs, also at the ends, of which the first and the last are "
              "the extremes{}.",
              audit.exact_quantiles ? "" : "; those between are rounded away from 0 by at most 0.05%"),
          .table = std::move(table)};
}

ReportTable worst_table(const ErrorAudit& audit, const ErrorNames& names) {
  Table table{.caption = "Worst inputs", .columns = {"input", names.error}};
  for (const WorstInput& input : audit.worst)
    table.add({static_cast<double>(input.example), input.error + 0.0});
  return {.id = "worst",
          .look = "The inputs with the largest errors, numbered from 0: look for what they have in common.",
          .table = std::move(table)};
}

ReportTable worst_table(const Audit& audit, const ErrorNames& names, const AuditNames& of) {
  const std::vector<AuditedInput>& worst = audit.worst_inputs;
  const auto has_target = [](const AuditedInput& input) { return input.target != Dataset::kNoTarget; };
  const bool with_targets = std::any_of(worst.begin(), worst.end(), has_target);
  Table table{.caption = "Worst inputs",
              .columns = {"input", names.error, "best output", "its exact probability",
                          fmt::format("its {} probability", names.kind)}};
  if (with_targets) table.columns.push_back("true output");
  table.columns.push_back(of.norm);
  for (const AuditedInput& input : worst) {
    std::vector<Cell> row{static_cast<double>(input.example), input.error + 0.0,
                          output_name(input.best, of.labels), probability(input.best_exact),
                          probability(input.best_audited())};
    if (with_targets) row.push_back(has_target(input) ? output_name(input.target, of.labels) : Cell(""));
    row.emplace_back(input.norm);
    table.add(std::move(row));
  }
  return {.id = "worst",
          .look = fmt::format("The inputs whose {} log-probabilities are furthest from the exact ones, {}: "
                              "look for what they have in common, such as an output or a large norm.",
                              names.kind, of.numbering),
          .table = std::move(table)};
}

}  // namespace selfnorm
