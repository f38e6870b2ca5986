#include "density/density_report.h"

#include <fmt/format.h>

#include <cmath>

#include "output.h"

namespace selfnorm::cli {
namespace {

constexpr double kLargestWritten = 1e9;  // in full

std::string decimal_or_power(double value) {
  return std::abs(value) < kLargestWritten ? fmt::format("{:.4f}", value) : fmt::format("{:.3g}", value);
}

bool has_interval(const LogZEstimate& z) { return z.low < z.high; }
bool is_sampled(const LogZEstimate& z) { return z.method == "importance" || z.method == "annealed"; }

}  // namespace

nlohmann::ordered_json log_z_json(const LogZEstimate& z) {
  const auto where = [](bool exists, double value) {
    return exists ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
  };
  nlohmann::ordered_json out = {{"method", z.method}, {"value", z.value}, {"low", z.low}, {"high", z.high}};
  out["ess"] = where(is_sampled(z), z.effective);
  out["tail"] = where(z.method == "importance", z.tail);
  out["evaluations"] = z.evaluations;
  return out;
}

nlohmann::ordered_json density_json(const DensityEvaluation& e) {
  const auto trusted = [&e](double value) {
    return e.is_trusted ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
  };
  nlohmann::ordered_json out = {{"rows", e.rows},
                                {"outside", e.outside},
                                {"log_z", log_z_json(e.log_z)},
                                {"b", e.b},
                                {"nll", trusted(e.nll)},
                                {"nll_low", trusted(e.nll_low)},
                                {"nll_high", trusted(e.nll_high)},
                                {"nll_error", e.nll_error},
                                {"nll_b", e.nll_b},
                                {"snl_bound", trusted(e.snl_bound)},
                                {"log_ratio", trusted(e.log_ratio)},
                                {"trusted", e.is_trusted}};
  if (!e.is_trusted) out["distrust"] = e.distrust;
  return out;
}

std::string density_table(const std::vector<DensityRow>& rows) {
  std::vector<std::vector<std::string>> cells{{"model", "rows", "NLL", "+-", "NLL by interval", "SNL bound",
                                               "NLL with b", "b", "b - log Z", "log Z", "interval", "method",
                                               "ESS"}};
  std::string reasons;
  for (const DensityRow& row : rows) {
    const auto& [name, evaluation, normalizer_doubt] = row;
    const DensityEvaluation& e = evaluation;  // what lambdas can capture
    const auto trusted = [&e](double value) { return e.is_trusted ? decimal_or_power(value) : "-"; };
    const auto interval = [&e](bool is_shown, double low, double high) {
      return is_shown && has_interval(e.log_z) ? fmt::format("[{:.4f}, {:.4f}]", low, high) : "-";
    };
    cells.push_back({name, grouped(e.rows), trusted(e.nll), decimal_or_power(e.nll_error),
                     interval(e.is_trusted, e.nll_low, e.nll_high), trusted(e.snl_bound),
                     decimal_or_power(e.nll_b), decimal_or_power(e.b), trusted(e.b - e.log_z.value),
                     trusted(e.log_z.value), interval(true, e.log_z.low, e.log_z.high), e.log_z.method,
                     is_sampled(e.log_z) ? fmt::format("{:.1f}", e.log_z.effective) : "-"});
    if (!e.is_trusted) reasons += fmt::format("{}: no likelihood: {}\n", name, e.distrust);
    if (!normalizer_doubt.empty()) reasons += fmt::format("{}: {}\n", name, normalizer_doubt);
  }
  return aligned(cells) + reasons;
}

}  // namespace selfnorm::cli
