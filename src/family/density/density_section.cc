#include "family/density/density_section.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "family/density/density_figure.h"
#include "family/density/density_samples.h"
#include "family/density/normalizer_estimates.h"
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

}  // namespace

void add_density(const ShownDensity& shown, ReportDocument& document) {
  add_cards(shown, document);
  add_part(shown.part, document);
  const DensityModel& model = shown.model;
  DensityPoints points = density_points(model, shown.points, shown.seed);
  if (shown.part == RowsPart::kTrained) points.data_name = "training data";
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

}  // namespace selfnorm
