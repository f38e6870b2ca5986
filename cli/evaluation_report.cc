#include "evaluation_report.h"

#include <fmt/format.h>

#include "output.h"

namespace selfnorm::cli {

nlohmann::ordered_json evaluation_json(const Evaluation& e, double log_normalizer) {
  const LogZStatistics& z = e.log_z;
  return {{"n", e.n},
          {"classes", e.classes},
          {"nll_exact", e.nll_exact},
          {"nll_raw", e.nll_raw},
          {"accuracy", e.accuracy},
          {"top5", e.top5},
          {"log_z",
           {{"mean", z.mean},
            {"std", z.std},
            {"rms", z.rms},
            {"min", z.min},
            {"max", z.max},
            {"q01", z.q01},
            {"q50", z.q50},
            {"q99", z.q99}}},
          {"kl_uniform", e.kl_uniform},
          {"log_normalizer", log_normalizer}};
}

std::string evaluation_table(const std::vector<EvaluationRow>& rows) {
  std::vector<std::vector<std::string>> cells{
      {"model", "rows", "classes", "NLL exact", "NLL raw", "accuracy", "top-5", "rms log Z", "KL uniform"}};
  const bool is_timed = !rows.empty() && rows[0].timing.has_value();
  if (is_timed) cells[0].insert(cells[0].end(), {"raw ns", "exact ns"});
  for (const EvaluationRow& row : rows) {
    const Evaluation& e = row.evaluation;
    cells.push_back({row.name, grouped(e.n), grouped(e.classes), fmt::format("{:.4f}", e.nll_exact),
                     fmt::format("{:.4f}", e.nll_raw), fmt::format("{:.4f}", e.accuracy),
                     fmt::format("{:.4f}", e.top5), fmt::format("{:.4f}", e.log_z.rms),
                     fmt::format("{:.4f}", e.kl_uniform)});
    if (is_timed && row.timing) {
      cells.back().push_back(fmt::format("{:.0f}", row.timing->raw_ns));
      cells.back().push_back(fmt::format("{:.0f}", row.timing->exact_ns));
    }
  }
  return aligned(cells);
}

std::string log_z_line(const LogZStatistics& z) {
  return fmt::format(
      "log Z - c: mean {:.4f}, std {:.4f}, min {:.4f}, 1% {:.4f}, median {:.4f}, 99% {:.4f}, max {:.4f}\n",
      z.mean, z.std, z.min, z.q01, z.q50, z.q99, z.max);
}

}  // namespace selfnorm::cli
