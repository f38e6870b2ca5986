#include "family/density/density_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "family/density/density_figure.h"
#include "family/density/density_log_z.h"
#include "normalizer/sampling/annealed_log_z.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// 0 has no sign.
std::string decimal(double value) {
  const std::string text = fmt::format("{:.4f}", value);
  return text == "-0.0000" ? "0.0000" : text;
}

std::string model_text(const DensityModel& model) {
  const auto objective = nlohmann::json::parse(model.objective_json);
  std::string text = fmt::format("density, {}", model.energy->record().kind);
  if (objective.contains("name")) text += ", " + objective["name"].get<std::string>();
  return text;
}

// "log Z by importance, -0.0123 .. +0.0150"
std::string log_z_source(const LogZEstimate& z) {
  if (!(z.low < z.high)) return fmt::format("log Z by {}", z.method);
  return fmt::format("log Z by {}, {:+.4f} .. {:+.4f}", z.method, z.low - z.value, z.high - z.value);
}

// A number that rests on log Z, which has to be trusted.
ReportCard trusted_card(const std::string& id, const std::string& label, double number,
                        const DensityEvaluation& e) {
  if (!e.is_trusted || !std::isfinite(number))
    return {id, label, "not known", std::nullopt, e.outside > 0 ? "rows outside the support" : e.distrust};
  return {id, label, decimal(number), number, log_z_source(e.log_z)};
}

ReportCard with_b(const std::string& id, const std::string& label, double number) {
  if (!std::isfinite(number)) return {id, label, "infinite", std::nullopt, "b"};
  return {id, label, decimal(number), number, "b"};
}

void add_cards(const ShownDensity& shown, ReportDocument& document) {
  const DensityEvaluation& e = shown.evaluation;
  const auto add = [&document](ReportCard card) { document.cards.push_back(std::move(card)); };
  add({"model", "Model", model_text(shown.model), std::nullopt, "b " + shown.model.normalizer_kind});
  add({"data", "Data", shown.data, std::nullopt, ""});
  add({"inputs", "Rows", fmt::format("{}", e.rows), static_cast<double>(e.rows), ""});
  ReportCard exact = trusted_card("nll_exact", "NLL", e.nll, e);
  if (exact.number) exact.source += fmt::format("; +- {} over the rows", decimal(e.nll_error));
  if (exact.number && e.intervals > 0)
    exact.source += fmt::format("; +- {:.2g} (95%) of the masses of intervals", e.interval_error);
  add(std::move(exact));
  add(with_b("nll_raw", "NLL with b", e.nll_b));
  add(trusted_card("b_minus_log_z", "b - log Z", -e.log_ratio, e));
  add(trusted_card("snl_bound", "SNL bound of the log-likelihood", e.snl_bound, e));
  add({"outside", "Rows outside the support", fmt::format("{}", e.outside), static_cast<double>(e.outside),
       ""});
  if (!e.is_trusted) document.notes.push_back("No likelihood: " + e.distrust);
  if (shown.model.normalizer_kind == "untrusted")
    document.notes.push_back("b is not to be trusted: log-densities with b are right up to a constant only.");
}

void add_part(RowsPart part, ReportDocument& document) {
  if (part == RowsPart::kTrained)
    document.notes.push_back(
        "The model was trained on the rows shown, so they tell nothing about other rows; 'selfnorm evaluate' "
        "takes others.");
  if (part == RowsPart::kChoseStep)
    document.notes.push_back(
        "The step of training that did best on the rows shown was kept, so NLL is a little optimistic; "
        "'selfnorm evaluate' takes others.");
}

ShownNormalizer normalizer_of(const DensityModel& model, const DensityEvaluation& e) {
  if (is_log_z_trusted(model, e)) return {e.log_z.value, log_z_source(e.log_z)};
  return {e.b, "b, for log Z could not be found"};
}

void try_figure(const std::function<ReportFigure()>& make, ReportDocument& document) {
  try {
    document.section("Density").figures.push_back(make());
  } catch (const Error& error) {
    document.notes.push_back(fmt::format("A figure of the density is missing: {}", error.what()));
  }
}

constexpr double kLeastEstimated = 1000, kMostEstimated = 20'000;
constexpr double kAnnealedEffective = 20;
constexpr AnnealedOptions kAnnealing{.chains = 128, .temperatures = 100, .pilot_chains = 16};
const std::vector<std::string> kMethods{"computed", "importance sampling", "annealing"};

double place_of(const std::string& method) {
  return method == "importance" ? 2 : method == "annealed" ? 3 : 1;
}

// A transition of HMC has leapfrog steps, half of the most on average, whose gradients are worth three
// evaluations each; a sweep of Gibbs visits every level.
double annealing_evaluations(const Support& support) {
  const double transition = support.is_real()
                                ? 1.5 * static_cast<double>(kAnnealing.leapfrog)
                                : std::accumulate(support.levels.begin(), support.levels.end(), 0.0);
  return static_cast<double>((2 * kAnnealing.chains + kAnnealing.pilot_chains) * kAnnealing.temperatures) *
         transition;
}

class Estimates {
 public:
  void add(const LogZEstimate& z, bool is_trusted) {
    Series& series = is_trusted ? trusted_ : doubtful_;
    const double error = std::max({0.0, z.high - z.value, z.value - z.low});
    if (!std::isfinite(z.value)) {
      leave_out(z.method, "it is not finite");
      return;
    }
    series.x.push_back(place_of(z.method));
    series.y.push_back(z.value);
    series.error.push_back(std::isfinite(error) ? error : 0);
    std::string label = fmt::format("{}: {:.4f}, from {:.4f} to {:.4f}", z.method, z.value, z.low, z.high);
    if (place_of(z.method) > 1) label += fmt::format(", {:.0f} effective draws", z.effective);
    series.labels.push_back(std::move(label));
  }

  void leave_out(const std::string& method, const std::string& reason) {
    left_out_ +=
        fmt::format(" No log Z by {}: {}.", kMethods[static_cast<size_t>(place_of(method)) - 1], reason);
  }

  ReportFigure figure(double b) && {
    Panel panel{
        .title = "",
        .x = {.label = "", .low = 0.5, .high = 3.5, .ticks = kMethods},
        .y = {.label = "log Z, in standardised units"},
        .series = {{.name = "b", .x = {0.5, 3.5}, .y = {b, b}, .stroke = Stroke::dashed, .colour = 1}}};
    for (Series* series : {&trusted_, &doubtful_})
      if (!series->x.empty()) panel.series.push_back(std::move(*series));
    return {
        "normalizer_estimates",
        "The line is b, which the model gives for log Z; the marks are log Z as found, with their errors: "
        "the nearer the line runs to those that are trusted, the better log-densities with b are." +
            left_out_,
        {.title = "b against log Z", .panels = {std::move(panel)}}};
  }

 private:
  Series trusted_{.name = "log Z with its interval", .x = {}, .y = {}, .stroke = Stroke::marks};
  Series doubtful_{
      .name = "log Z, not to be trusted", .x = {}, .y = {}, .stroke = Stroke::marks, .colour = 7};
  std::string left_out_;
};

void add_importance(const DensityModel& model, uint64_t seed, Estimates& out) {
  const double draws = std::clamp(kAffordableWork / evaluation_cost(model), kLeastEstimated, kMostEstimated);
  try {
    const JudgedLogZ z =
        judged_log_z(model, {.method = "importance", .samples = static_cast<uint64_t>(draws), .seed = seed});
    out.add(z.estimate, z.distrust.empty());
  } catch (const Error& error) {
    out.leave_out("importance", error.what());
  }
}

void add_annealed(const DensityModel& model, uint64_t seed, Estimates& out) {
  const Support support = model.energy->support();
  if (!support.has_chains()) return out.leave_out("annealed", "it has no steps for counts and mixed tables");
  if (annealing_evaluations(support) * evaluation_cost(model) > kAffordableWork)
    return out.leave_out("annealed",
                         "it would take long here, 'selfnorm evaluate --method annealed' does it");
  try {
    const LogZEstimate z = annealed_log_z(*model.energy, *model.proposal, kAnnealing, seed).estimate;
    out.add(z, log_z_doubt(z, *model.energy, kAnnealedEffective).empty());
  } catch (const Error& error) {
    out.leave_out("annealed", error.what());
  }
}

}  // namespace

void add_density(const ShownDensity& shown, ReportDocument& document) {
  add_cards(shown, document);
  add_part(shown.part, document);
  const DensityModel& model = shown.model;
  DensityPoints points = density_points(model, shown.points, shown.seed);
  if (shown.part == RowsPart::kTrained) points.data_name = "training data";
  if (points.completed > 0)
    document.notes.push_back(fmt::format(
        "{} of the rows shown have intervals: figures have them at draws of the proposal given what is "
        "known of them, which are no data.",
        points.completed));
  document.cards.push_back(
      {"samples", "Samples", points.is_trusted ? "good" : "not to be trusted", std::nullopt, points.quality});
  try_figure(
      [&] {
        return has_density_figure(model)
                   ? density_figure(model, normalizer_of(model, shown.evaluation), points)
                   : samples_figure(model, points);
      },
      document);
  try_figure([&] { return normalizer_figure(model, shown.evaluation, shown.seed); }, document);
}

bool is_log_z_trusted(const DensityModel& model, const DensityEvaluation& evaluation) {
  if (evaluation.is_trusted || evaluation.outside == 0) return evaluation.is_trusted;
  return log_z_doubt(evaluation.log_z, *model.energy, DensityEvaluationOptions{}.least_effective).empty();
}

ReportFigure normalizer_figure(const DensityModel& model, const DensityEvaluation& evaluation,
                               uint64_t seed) {
  Estimates out;
  out.add(evaluation.log_z, is_log_z_trusted(model, evaluation));
  if (evaluation.log_z.method != "importance") add_importance(model, seed, out);
  if (evaluation.log_z.method != "annealed") add_annealed(model, seed, out);
  return std::move(out).figure(evaluation.b);
}

}  // namespace selfnorm
