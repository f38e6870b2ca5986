#include "crf/crf_report.h"

#include <fmt/format.h>

#include <algorithm>

namespace selfnorm::cli {
namespace {

using Cells = std::vector<std::vector<std::string>>;

Json counts_json(const SpanCounts& counts) {
  return {{"precision", counts.precision()}, {"recall", counts.recall()},     {"f1", counts.f1()},
          {"correct", counts.correct},       {"predicted", counts.predicted}, {"actual", counts.actual}};
}

std::string span_table(const SpanEvaluation& spans) {
  Cells cells{{"spans", "precision", "recall", "F1", "correct", "predicted", "actual"}};
  const auto add = [&cells](const std::string& name, const SpanCounts& c) {
    cells.push_back({name, decimal(c.precision()), decimal(c.recall()), decimal(c.f1()), grouped(c.correct),
                     grouped(c.predicted), grouped(c.actual)});
  };
  for (const auto& [type, counts] : spans.by_type) add(type, counts);
  add("all", spans.all);
  return aligned(cells);
}

}  // namespace

std::string length_words(const LengthLevel& level) {
  return level.shortest == level.longest ? grouped(level.shortest)
                                         : grouped(level.shortest) + ".." + grouped(level.longest);
}

std::string lengths_text(const std::vector<LengthLevel>& levels, const std::string& level_name) {
  Cells cells{
      {"tokens", "sentences", "mean " + level_name, "rms " + level_name, "rms " + level_name + " a token"}};
  for (const LengthLevel& level : levels)
    cells.push_back({length_words(level), grouped(level.sentences), decimal(level.mean), decimal(level.rms),
                     decimal(level.rms_per_token)});
  return aligned(cells);
}

Json lengths_json(const std::vector<LengthLevel>& levels) {
  Json out = Json::array();
  for (const LengthLevel& level : levels)
    out.push_back({{"shortest", level.shortest},
                   {"longest", level.longest},
                   {"sentences", level.sentences},
                   {"mean", level.mean},
                   {"rms", level.rms},
                   {"rms_per_token", level.rms_per_token}});
  return out;
}

Json levels_json(const CrfLevels& raw, const CrfLevels* amortised) {
  Json out = {{"log_z", log_z_json(raw.log_z)}, {"log_z_per_token", log_z_json(raw.log_z_per_token)}};
  if (amortised != nullptr) {
    out["log_z_amortised"] = log_z_json(amortised->log_z);
    out["log_z_amortised_per_token"] = log_z_json(amortised->log_z_per_token);
  }
  out["by_length"] = lengths_json(raw.by_length);
  if (amortised == nullptr) return out;
  for (size_t i = 0; i < raw.by_length.size(); ++i) {
    const LengthLevel& level = amortised->by_length[i];
    out["by_length"][i].update({{"mean_amortised", level.mean},
                                {"rms_amortised", level.rms},
                                {"rms_amortised_per_token", level.rms_per_token}});
  }
  return out;
}

Json crf_json(const CrfEvaluation& e) {
  Json out = {{"sentences", e.sentences},
              {"tokens", e.tokens},
              {"accuracy", e.accuracy},
              {"sentence_accuracy", e.sentence_accuracy}};
  if (e.spans) {
    out["spans"] = counts_json(e.spans->all);
    for (const auto& [type, counts] : e.spans->by_type) out["spans"]["types"][type] = counts_json(counts);
  }
  add_unseen(e.unseen, out);
  if (e.unseen > 0) out["unseen_sentences"] = e.unseen_sentences;
  out["nll_exact"] = e.nll_exact;
  out["nll_raw"] = e.nll_raw;
  out["nll_exact_per_token"] = e.nll_exact_per_token;
  out["nll_raw_per_token"] = e.nll_raw_per_token;
  if (e.amortised) {
    out["nll_amortised"] = e.amortised->nll;
    out["nll_amortised_per_token"] = e.amortised->nll_per_token;
  }
  out.update(levels_json(e, e.amortised ? &*e.amortised : nullptr));
  return out;
}

std::string crf_table(const std::vector<CrfRow>& rows) {
  Cells cells{{"model", "sentences", "tokens", "accuracy", "sentences right", "span F1", "unseen labels",
               "NLL exact", "NLL raw", "NLL exact a token", "NLL raw a token", "rms log Z",
               "rms log Z a token", "NLL amortised", "NLL amortised a token", "rms log Z - b",
               "rms log Z - b a token"}};
  for (const auto& [name, e, timing] : rows) {
    cells.push_back({name, grouped(e.sentences), grouped(e.tokens), decimal(e.accuracy),
                     decimal(e.sentence_accuracy), e.spans ? decimal(e.spans->all.f1()) : "",
                     e.unseen > 0 ? grouped(e.unseen) : "", decimal(e.nll_exact), decimal(e.nll_raw),
                     decimal(e.nll_exact_per_token), decimal(e.nll_raw_per_token), decimal(e.log_z.rms),
                     decimal(e.log_z_per_token.rms)});
    cells.back().resize(cells[0].size());
    if (const auto& b = e.amortised)
      std::ranges::copy(std::vector{decimal(b->nll), decimal(b->nll_per_token), decimal(b->log_z.rms),
                                    decimal(b->log_z_per_token.rms)},
                        cells.back().end() - 4);
  }
  return aligned_present(std::move(cells));
}

std::string timing_table(const std::vector<CrfRow>& rows) {
  Cells cells{{"log-probability of a labelling", "ns a sentence", "ns a token", "times raw"}};
  const auto add = [&cells](const std::string& name, const CrfTiming& t, double ns) {
    cells.push_back({name, fmt::format("{:.0f}", ns), fmt::format("{:.1f}", ns / t.tokens),
                     fmt::format("{:.1f}", ns / t.score.raw_ns)});
  };
  for (const auto& [name, evaluation, timing] : rows) {
    if (!timing) continue;
    add(name + " raw", *timing, timing->score.raw_ns);
    if (timing->score.amortised_ns) add(name + " amortised", *timing, *timing->score.amortised_ns);
    for (const auto& [rung, ns] : timing->nearest_ns) add(name + " " + rung, *timing, ns);
    add(name + " exact", *timing, timing->score.exact_ns);
  }
  return aligned(cells);
}

Json timing_json(const CrfTiming& timing) {
  Json out = timing_json(timing.score), per_token;
  for (const auto& [rung, ns] : timing.nearest_ns) out["score_ns_" + rung] = ns;
  for (const auto& [key, ns] : out.items()) per_token[key + "_per_token"] = ns.get<double>() / timing.tokens;
  out.update(per_token);
  return out;
}

std::string crf_details(const CrfEvaluation& e) {
  std::string text;
  if (e.spans) text += "\n" + span_table(*e.spans);
  text += "\n" + lengths_text(e.by_length) + "\n";
  text += log_z_line(e.log_z, "log Z of a sentence") + log_z_line(e.log_z_per_token, "log Z a token");
  if (!e.amortised) return text;
  return text + "\n" + lengths_text(e.amortised->by_length, "log Z - b") + "\n" +
         log_z_line(e.amortised->log_z, "log Z - b of a sentence") +
         log_z_line(e.amortised->log_z_per_token, "log Z - b a token");
}

}  // namespace selfnorm::cli
