#include "classifier/evaluation_report.h"

#include <fmt/format.h>

namespace selfnorm::cli {

nlohmann::ordered_json timing_json(const ScoreTiming& timing) {
  nlohmann::ordered_json out = {{"score_ns_raw", timing.raw_ns}, {"score_ns_exact", timing.exact_ns}};
  if (timing.amortised_ns) out["score_ns_amortised"] = *timing.amortised_ns;
  return out;
}

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
  std::vector<std::vector<std::string>> cells{
      {"model", "rows", "classes", "NLL exact", "NLL raw", "accuracy", "top-5", "rms log Z", "KL uniform",
       "unseen labels", "NLL amortised", "rms log Z - b", "raw ns", "exact ns", "amortised ns"}};
  const auto whole = [](double ns) { return fmt::format("{:.0f}", ns); };
  for (const auto& [name, e, timing] : rows)
    cells.push_back({name, grouped(e.n), grouped(e.classes), decimal(e.nll_exact), decimal(e.nll_raw),
                     decimal(e.accuracy), decimal(e.top5), decimal(e.log_z.rms), decimal(e.kl_uniform),
                     e.unseen > 0 ? grouped(e.unseen) : "", e.amortised ? decimal(e.amortised->nll) : "",
                     e.amortised ? decimal(e.amortised->log_z.rms) : "", timing ? whole(timing->raw_ns) : "",
                     timing ? whole(timing->exact_ns) : "",
                     timing && timing->amortised_ns ? whole(*timing->amortised_ns) : ""});
  return aligned_present(std::move(cells));
}

std::string log_z_line(const LogZStatistics& z, const std::string& name) {
  return fmt::format(
      "{}: mean {:.4f}, std {:.4f}, min {:.4f}, 1% {:.4f}, median {:.4f}, 99% {:.4f}, max {:.4f}\n", name,
      z.mean, z.std, z.min, z.q01, z.q50, z.q99, z.max);
}

}  // namespace selfnorm::cli
