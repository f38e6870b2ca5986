#include "regressor_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "audit_report.h"
#include "output.h"

namespace selfnorm::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string decimal(double value) { return fmt::format("{:.4f}", value); }
// Units of the data may be of any size.
std::string significant(double value) { return fmt::format("{:.5g}", value); }

double largest_size(const LogZStatistics& z) { return std::max(std::abs(z.min), std::abs(z.max)); }

// The audited error e is A - b of one member; of ensembles it is that of the mean density.
Json b_minus_a_json(const ErrorAudit& audit) {
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

std::string likelihood_table(const std::vector<RegressionRow>& rows) {
  std::vector<std::vector<std::string>> cells{{"model", "rows", "NLL", "+-", "NLL with b", "mean(b - A)",
                                               "rms(b - A)", "max|b - A|", "quadrature error", "tail"}};
  for (const RegressionRow& row : rows) {
    const RegressionEvaluation& e = row.evaluation;
    cells.push_back({row.name, grouped(e.rows), decimal(e.nll), decimal(e.nll_error), decimal(e.nll_b),
                     decimal(-e.log_z.mean), decimal(e.log_z.rms), decimal(largest_size(e.log_z)),
                     fmt::format("{:.1e}", e.quadrature_error), fmt::format("{:.1e}", e.tail)});
  }
  return aligned(cells);
}

// Coverage: central / highest-density intervals.
std::string prediction_table(const std::vector<RegressionRow>& rows) {
  std::vector<std::vector<std::string>> cells{{"model, target", "CRPS", "+-", "RMSE", "MAE", "PIT distance"}};
  for (const Coverage& level : rows[0].evaluation.coordinates[0].coverage)
    cells[0].push_back(fmt::format("in {:.6g}%", 100 * level.level));
  for (const RegressionRow& row : rows) {
    for (size_t j = 0; j < row.targets.size(); ++j) {
      const CoordinateEvaluation& c = row.evaluation.coordinates[j];
      std::vector<std::string> line{fmt::format("{}, {}", row.name, row.targets[j]),
                                    significant(c.crps),
                                    significant(c.crps_error),
                                    significant(c.rmse),
                                    significant(c.mae),
                                    decimal(c.pit_deviation)};
      for (const Coverage& level : c.coverage)
        line.push_back(fmt::format("{:.1f}/{:.1f}%", 100 * level.central, 100 * level.highest_density));
      cells.push_back(std::move(line));
    }
  }
  return aligned(cells) + "(shares of the targets inside central/highest-density intervals)\n";
}

}  // namespace

Json regression_json(const RegressionEvaluation& e, const std::vector<std::string>& targets) {
  Json out = {{"rows", e.rows},
              {"outside", e.outside},
              {"nll", e.nll},
              {"nll_error", e.nll_error},
              {"nll_b", e.nll_b}};
  if (targets.size() == 1) {
    out.update(coordinate_json(e.coordinates[0]));
  } else {
    for (size_t j = 0; j < targets.size(); ++j) {
      Json target = {{"name", targets[j]}};
      target.update(coordinate_json(e.coordinates[j]));
      out["targets"].push_back(std::move(target));
    }
  }
  out["b_minus_a"] = b_minus_a_json(e);
  out.update(certified_json(e));
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
    if (rows.size() > 1) text += row.name + "\n";
    text += certificate_text(row.evaluation.certificate);
  }
  return text;
}

Json regression_audit_json(const RegressionEvaluation& e) {
  Json out = {{"n", e.rows}};
  out.update(errors_json(e));
  out.update({{"nll_exact", e.nll}, {"nll_amortised", e.nll_b}, {"quadrature_error", e.quadrature_error}});
  out.update(certified_json(e));
  return out;
}

std::string regression_audit_text(const RegressionEvaluation& e) {
  return "log Z - b(x)\n" + errors_text(e) +
         fmt::format("likelihood   NLL amortised {:.4f}, exact {:.4f}\n", e.nll_b, e.nll) + certified_text(e);
}

}  // namespace selfnorm::cli
