#include "classifier/evaluation_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "output.h"

namespace selfnorm::cli {
nlohmann::ordered_json log_z_json(const LogZStatistics& z) {
  return {{"mean", z.mean}, {"std", z.std}, {"rms", z.rms}, {"min", z.min},
          {"max", z.max},   {"q01", z.q01}, {"q50", z.q50}, {"q99", z.q99}};
}

void add_unseen(uint64_t unseen, nlohmann::ordered_json& to) {
  if (unseen == 0) return;
  to["unseen_labels"] = unseen;
  to["nll_exact_with_unseen"] = "inf";
}

nlohmann::ordered_json evaluation_json(const Evaluation& e, double log_normalizer) {
  nlohmann::ordered_json out = {{"n", e.n},
                                {"classes", e.classes},
                                {"nll_exact", e.nll_exact},
                                {"nll_raw", e.nll_raw},
                                {"accuracy", e.accuracy},
                                {"top5", e.top5},
                                {"log_z", log_z_json(e.log_z)},
                                {"kl_uniform", e.kl_uniform},
                                {"log_normalizer", log_normalizer}};
  add_unseen(e.unseen, out);
  if (e.amortised) {
    out["nll_amortised"] = e.amortised->nll;
    out["log_z_amortised"] = log_z_json(e.amortised->log_z);
  }
  return out;
}

std::string evaluation_table(const std::vector<EvaluationRow>& rows) {
  const bool is_timed =
      std::any_of(rows.begin(), rows.end(), [](const auto& r) { return r.timing.has_value(); });
  const bool is_amortised =
      std::any_of(rows.begin(), rows.end(), [](const auto& r) { return r.evaluation.amortised.has_value(); });
  std::vector<std::vector<std::string>> cells{
      {"model", "rows", "classes", "NLL exact", "NLL raw", "accuracy", "top-5", "rms log Z", "KL uniform"}};
  const bool has_unseen =
      std::any_of(rows.begin(), rows.end(), [](const auto& r) { return r.evaluation.unseen > 0; });
  if (has_unseen) cells[0].push_back("unseen labels");
  if (is_amortised) cells[0].insert(cells[0].end(), {"NLL amortised", "rms log Z - b"});
  if (is_timed) cells[0].insert(cells[0].end(), {"raw ns", "exact ns"});
  if (is_timed && is_amortised) cells[0].push_back("amortised ns");
  for (const EvaluationRow& row : rows) {
    const Evaluation& e = row.evaluation;
    cells.push_back({row.name, grouped(e.n), grouped(e.classes), decimal(e.nll_exact), decimal(e.nll_raw),
                     decimal(e.accuracy), decimal(e.top5), decimal(e.log_z.rms), decimal(e.kl_uniform)});
    const auto add = [&cells](const std::string& cell) { cells.back().push_back(cell); };
    if (has_unseen) add(grouped(e.unseen));
    if (is_amortised) {
      add(e.amortised ? decimal(e.amortised->nll) : "-");
      add(e.amortised ? decimal(e.amortised->log_z.rms) : "-");
    }
    if (!row.timing) continue;
    add(fmt::format("{:.0f}", row.timing->raw_ns));
    add(fmt::format("{:.0f}", row.timing->exact_ns));
    if (is_amortised) add(row.timing->amortised_ns ? fmt::format("{:.0f}", *row.timing->amortised_ns) : "-");
  }
  return aligned(cells);
}

std::string log_z_line(const LogZStatistics& z, const std::string& name) {
  return fmt::format(
      "{}: mean {:.4f}, std {:.4f}, min {:.4f}, 1% {:.4f}, median {:.4f}, 99% {:.4f}, max {:.4f}\n", name,
      z.mean, z.std, z.min, z.q01, z.q50, z.q99, z.max);
}

}  // namespace selfnorm::cli
