#include "classifier/evaluation_report.h"

#include <fmt/format.h>

#include <cmath>

namespace selfnorm::cli {
namespace {

std::string perplexity(double nll) {
  const double value = std::exp(nll);
  return value < 1e6 ? fmt::format("{:.2f}", value) : fmt::format("{:.3g}", value);
}

}  // namespace

Json timing_json(const ScoreTiming& timing) {
  Json out = {{"score_ns_raw", timing.raw_ns}, {"score_ns_exact", timing.exact_ns}};
  if (timing.amortised_ns) out["score_ns_amortised"] = *timing.amortised_ns;
  return out;
}

Json log_z_json(const LogZStatistics& z) {
  return {{"mean", z.mean}, {"std", z.std}, {"rms", z.rms}, {"min", z.min},
          {"max", z.max},   {"q01", z.q01}, {"q50", z.q50}, {"q99", z.q99}};
}

void add_unseen(uint64_t unseen, Json& to) {
  if (unseen == 0) return;
  to["unseen_labels"] = unseen;
  to["nll_exact_with_unseen"] = "inf";
}

Json evaluation_json(const Evaluation& e, double log_normalizer) {
  Json out = {{"n", e.n},
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

Json language_json(const LanguageEvaluation& e, double log_normalizer) {
  Json out = {{"tokens", e.tokens},
              {"of_tokens", e.of_tokens},
              {"unknown", e.unknown},
              {"words", e.words},
              {"perplexity_exact", std::exp(e.nll_exact)},
              {"perplexity_raw", std::exp(e.nll_raw)},
              {"perplexity_known", std::exp(e.nll_known)},
              {"nll_exact", e.nll_exact},
              {"nll_raw", e.nll_raw},
              {"nll_known", e.nll_known},
              {"log_z", log_z_json(e.log_z)},
              {"log_normalizer", log_normalizer}};
  if (e.amortised) {
    out["perplexity_amortised"] = std::exp(e.amortised->nll);
    out["nll_amortised"] = e.amortised->nll;
    out["log_z_amortised"] = log_z_json(e.amortised->log_z);
  }
  return out;
}

Json rate_json(const WordRate& rate) {
  Json out = {{"words_per_second", rate.raw},
              {"words_per_second_exact", rate.exact},
              {"speed_ratio", rate.raw / rate.exact}};
  if (rate.amortised) out["words_per_second_amortised"] = *rate.amortised;
  return out;
}

std::string language_table(const std::vector<LanguageRow>& rows) {
  std::vector<std::vector<std::string>> cells{{"model", "tokens", "unknown", "words", "ppl exact", "ppl raw",
                                               "ppl known", "mean log Z", "rms log Z", "ppl amortised",
                                               "rms log Z - b", "words/s", "exact words/s", "ratio"}};
  const auto whole = [](double rate) { return grouped(static_cast<uint64_t>(rate)); };
  for (const auto& [name, e, rate] : rows)
    cells.push_back({name, grouped(e.tokens), grouped(e.unknown), grouped(e.words), perplexity(e.nll_exact),
                     perplexity(e.nll_raw), perplexity(e.nll_known), fmt::format("{:.4f}", e.log_z.mean),
                     fmt::format("{:.4f}", e.log_z.rms), e.amortised ? perplexity(e.amortised->nll) : "",
                     e.amortised ? fmt::format("{:.4f}", e.amortised->log_z.rms) : "",
                     rate ? whole(rate->raw) : "", rate ? whole(rate->exact) : "",
                     rate ? fmt::format("{:.1f}", rate->raw / rate->exact) : ""});
  return aligned_present(std::move(cells));
}

std::string language_lines(const LanguageEvaluation& e) {
  std::string text = log_z_line(e.log_z);
  if (e.amortised) text += log_z_line(e.amortised->log_z, "log Z - c - b");
  if (e.tokens < e.of_tokens)
    text += fmt::format("of {} tokens, {} chosen at random\n", grouped(e.of_tokens), grouped(e.tokens));
  return text;
}

}  // namespace selfnorm::cli
