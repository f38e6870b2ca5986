#include "regressor/regressor_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "classifier/audit_report.h"
#include "output.h"

namespace selfnorm::cli {
namespace {

std::string fixed_decimal(double value) { return fmt::format("{:.4f}", value); }
// Units of the data may be of any size.
std::string significant(double value) { return fmt::format("{:.5g}", value); }

double largest_size(const LogZStatistics& z) { return std::max(std::abs(z.min), std::abs(z.max)); }

// -e: b - A of one member.
Json gap_json(const ErrorAudit& audit) {
  const LogZStatistics& e = audit.log_z;
  Json quantiles = Json::object();
  for (auto q = audit.quantiles.rbegin(); q != audit.quantiles.rend(); ++q)
    quantiles[fmt::format("{:.6g}", 1 - q->first)] = -q->second;
  return {{"mean", -e.mean},       {"sd", e.std},   {"rms", e.rms},
          {"min", -e.max},         {"max", -e.min}, {"max_abs", largest_size(e)},
          {"quantiles", quantiles}};
}

Json coordinate_json(const CoordinateEvaluation& c) {
  Json coverage = Json::array();
  for (const Coverage& level : c.coverage)
    coverage.push_back({{"level", level.level},
                        {"central", level.central},
                        {"highest_density", level.highest_density},
                        {"central_width", level.central_width},
                        {"highest_density_width", level.highest_density_width}});
  return {{"crps", c.crps},
          {"crps_error", c.crps_error},
          {"rmse", c.rmse},
          {"mae", c.mae},
          {"pit", {{"histogram", c.pit}, {"deviation", c.pit_deviation}}},
          {"coverage", coverage}};
}

// What a certificate is about, where there is one.
const char* of_normalizer(RowsPart part) {
  return part == RowsPart::kTrained ? ""
                                    : "             (the certificate is of b(x) in the place of log Z, not "
                                      "of calibration: see coverage and PIT)\n";
}

// Of `e`, whose error is called `error`; `likelihood` is what targets add, in both forms.
template <class Audited>
AuditWords audit_words(const Audited& e, RowsPart part, uint64_t members, const std::string& error,
                       const Json& likelihood, const std::string& likelihood_text) {
  Json json = {{"n", e.rows}, {"members", members}};
  json.update(errors_json(e));
  json.update(likelihood);
  json["quadrature_error"] = e.quadrature_error;
  json.update(certified_json(e));
  return {json, error + errors_text(e, part) + likelihood_text + certified_text(e, "amortised", part) +
                    of_normalizer(part)};
}

bool is_ensemble(const RegressionRow& row) { return row.evaluation.members > 1; }

std::string likelihood_table(const std::vector<RegressionRow>& rows) {
  const bool has_ensemble = std::ranges::any_of(rows, is_ensemble);
  const char* gap = has_ensemble ? "gap" : "b - A";
  std::vector<std::vector<std::string>> cells{{"model", "rows", "NLL", "+-", "NLL with b",
                                               fmt::format("mean({})", gap), fmt::format("rms({})", gap),
                                               fmt::format("max|{}|", gap), "quadrature error", "tail"}};
  for (const RegressionRow& row : rows) {
    const RegressionEvaluation& e = row.evaluation;
    cells.push_back({row.name, grouped(e.rows), fixed_decimal(e.nll), fixed_decimal(e.nll_error),
                     fixed_decimal(e.nll_b), fixed_decimal(-e.log_z.mean), fixed_decimal(e.log_z.rms),
                     fixed_decimal(largest_size(e.log_z)), fmt::format("{:.1e}", e.quadrature_error),
                     fmt::format("{:.1e}", e.tail)});
  }
  return aligned(cells) + (has_ensemble ? "(gap: log p exact minus log p with b, of an ensemble those of the "
                                          "mean density at the target, otherwise b - A)\n"
                                        : "");
}

// Coverage: central / highest-density intervals.
std::string prediction_table(const std::vector<RegressionRow>& rows) {
  std::vector<std::vector<std::string>> cells{{"model, target", "CRPS", "+-", "RMSE", "MAE", "PIT distance"}};
  for (const Coverage& level : rows[0].evaluation.coordinates[0].coverage)
    cells[0].push_back(fmt::format("in {:.6g}%", 100 * level.level));
  for (const RegressionRow& row : rows) {
    for (size_t j = 0; j < row.targets.size() && row.evaluation.intervals < row.evaluation.rows; ++j) {
      const CoordinateEvaluation& c = row.evaluation.coordinates[j];
      std::vector<std::string> line{fmt::format("{}, {}", row.name, row.targets[j]),
                                    significant(c.crps),
                                    significant(c.crps_error),
                                    significant(c.rmse),
                                    significant(c.mae),
                                    fixed_decimal(c.pit_deviation)};
      for (const Coverage& level : c.coverage)
        line.push_back(fmt::format("{:.1f}/{:.1f}%", 100 * level.central, 100 * level.highest_density));
      cells.push_back(std::move(line));
    }
  }
  if (cells.size() == 1)
    return "(CRPS, errors and coverage are of targets that are numbers; there are none)\n";
  return aligned(cells) + "(shares of the targets inside central/highest-density intervals)\n";
}

}  // namespace

Json regression_json(const RegressionEvaluation& e, const std::vector<std::string>& targets, RowsPart part) {
  Json out = {
      {"rows", e.rows}, {"members", e.members},     {"outside", e.outside}, {"zero_density", e.zero_density},
      {"nll", e.nll},   {"nll_error", e.nll_error}, {"nll_b", e.nll_b}};
  if (e.intervals > 0) out["intervals"] = e.intervals;
  if (e.intervals == e.rows) {
    // no target is a number
  } else if (targets.size() == 1) {
    out.update(coordinate_json(e.coordinates[0]));
  } else {
    for (size_t j = 0; j < targets.size(); ++j) {
      Json target = {{"name", targets[j]}};
      target.update(coordinate_json(e.coordinates[j]));
      out["targets"].push_back(std::move(target));
    }
  }
  out[e.members > 1 ? "log_density_gap" : "b_minus_a"] = gap_json(e);
  if (part != RowsPart::kTrained) out.update(certified_json(e));
  if (part == RowsPart::kChoseStep) out["chose_step"] = true;
  out["quadrature_error"] = e.quadrature_error;
  out["imprecise"] = e.imprecise;
  out["tail"] = e.tail;
  return out;
}

std::string regression_tables(const std::vector<RegressionRow>& rows) {
  std::string text = likelihood_table(rows) + "\n" + prediction_table(rows) + "\n";
  for (const RegressionRow& row : rows) {
    if (row.evaluation.outside > 0)
      text += fmt::format("{}: {} targets lie outside the support of the model, so NLL is infinite\n",
                          row.name, grouped(row.evaluation.outside));
    if (row.evaluation.imprecise > 0)
      text += fmt::format("{}: the error of A(x) is larger than the precision asked for on {} rows\n",
                          row.name, grouped(row.evaluation.imprecise));
    if (row.evaluation.zero_density > 0)
      text += fmt::format(
          "{}: {} targets of density 0, too far from all that the model was trained on, so NLL is infinite\n",
          row.name, grouped(row.evaluation.zero_density));
    if (rows.size() > 1) text += row.name + "\n";
    if (row.part == RowsPart::kTrained)
      text +=
          "certificate  none: the model was trained on these rows; --test FILE or evaluate takes others\n";
    else
      text += certificate_text(row.evaluation.certificate) + of_normalizer(row.part);
    if (row.part == RowsPart::kChoseStep)
      text +=
          "the step that did best on these rows is kept, so their NLL and certificate are a little "
          "optimistic\n";
  }
  return text;
}

void warn_about_coverage(const RegressionRow& row) {
  if (row.part == RowsPart::kTrained) return;
  if (const std::string doubt = coverage_doubt(row.evaluation, row.targets); !doubt.empty())
    warning(fmt::format("{}: {}", row.name, doubt));
}

AuditWords regression_audit_words(const RegressionEvaluation& e, RowsPart part) {
  const std::string error =
      e.members > 1
          ? fmt::format("log mean density of {} members at the target, with b(x) minus exact\n", e.members)
          : "log Z - b(x)\n";
  return audit_words(e, part, e.members, error, {{"nll_exact", e.nll}, {"nll_amortised", e.nll_b}},
                     fmt::format("likelihood   NLL amortised {:.4f}, exact {:.4f}\n", e.nll_b, e.nll));
}

AuditWords regression_audit_words(const NormalizerAudit& e, RowsPart part) {
  return audit_words(e, part, 1, "log Z - b(x)\n", Json::object(), "");
}

}  // namespace selfnorm::cli
