#include "lm/lm_report.h"

#include <fmt/format.h>

#include <cmath>

#include "classifier/evaluation_report.h"

namespace selfnorm::cli {
namespace {

std::string perplexity(double nll) {
  const double value = std::exp(nll);
  return value < 1e6 ? fmt::format("{:.2f}", value) : fmt::format("{:.3g}", value);
}

}  // namespace

nlohmann::ordered_json language_json(const LanguageEvaluation& e, double log_normalizer) {
  nlohmann::ordered_json out = {{"tokens", e.tokens},
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

nlohmann::ordered_json rate_json(const WordRate& rate) {
  nlohmann::ordered_json out = {{"words_per_second", rate.raw},
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
