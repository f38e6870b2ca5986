#include "family/regressor/regression_section.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "document/section/audit_section.h"
#include "family/regressor/regression_pictures.h"
#include "selfnorm/error.h"

namespace selfnorm {
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
