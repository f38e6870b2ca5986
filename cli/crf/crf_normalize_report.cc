#include "crf/crf_normalize_report.h"

#include <fmt/format.h>

#include "classifier/evaluation_report.h"
#include "crf/crf_report.h"
#include "document/section/normalize_section.h"
#include "family/crf/crf_section.h"
#include "output.h"

namespace selfnorm::cli {
namespace {

struct NamedState {
  std::string name;
  const CrfState& state;
};

std::vector<NamedState> states_of(const CrfNormalizeReport& r) {
  return {{"before", r.before}, {r.lossless ? "lossless" : "less b(x)", r.after}};
}

std::string row(const NamedState& named) {
  const auto& [audit, raw, evaluation] = named.state;
  std::string text = log_z_row("  " + named.name, audit.log_z) +
                     fmt::format("   rms a token {:>8.4f}", audit.log_z_per_token.rms);
  if (evaluation)
    text += fmt::format("   NLL exact {:.4f}, raw {:.4f}", evaluation->nll_exact, evaluation->nll_raw);
  if (evaluation && evaluation->amortised)
    text += fmt::format(", amortised {:.4f}", evaluation->amortised->nll);
  return text + "\n";
}

// rms log Z before and after by length.
std::string lengths_table(const CrfNormalizeReport& r) {
  std::vector<std::vector<std::string>> cells{{"tokens", "sentences"}};
  const std::vector<NamedState> states = states_of(r);
  for (const NamedState& s : states) cells[0].push_back("rms " + s.name);
  for (const NamedState& s : states) cells[0].push_back("a token, " + s.name);
  for (size_t i = 0; i < r.before.audit.by_length.size(); ++i) {
    const LengthLevel& level = r.before.audit.by_length[i];
    cells.push_back({length_words(level), grouped(level.sentences)});
    for (const auto rms : {&LengthLevel::rms, &LengthLevel::rms_per_token})
      for (const NamedState& s : states)
        cells.back().push_back(fmt::format("{:.4f}", s.state.audit.by_length[i].*rms));
  }
  return aligned(cells);
}

}  // namespace

nlohmann::ordered_json crf_normalize_json(const CrfNormalizeReport& r) {
  const CrfState& last = r.after;
  nlohmann::ordered_json out;
  if (r.lossless)
    out = lossless_json(*r.lossless);
  else
    out = {{"fitted", r.states}, {"held_out", r.held_out}, {"log_z_before", log_z_json(r.log_z_before)}};
  out["log_z_per_token_before"] = log_z_json(r.before.audit.log_z_per_token);
  if (r.lossless) out["log_z_per_token_lossless"] = log_z_json(last.audit.log_z_per_token);
  if (r.rms_fitted) {
    out["amortisation"] = {
        {"hidden", 0}, {"rms_training", *r.rms_fitted}, {"rms_held_out", last.audit.log_z.rms}};
    out["log_z_amortised"] = log_z_json(last.audit.log_z);
    out["log_z_amortised_per_token"] = log_z_json(last.audit.log_z_per_token);
  }
  out["log_z"] = log_z_json(last.audit.log_z);
  out["log_z_per_token"] = log_z_json(last.audit.log_z_per_token);
  out["by_length_before"] = lengths_json(r.before.audit.by_length);
  out["by_length"] = lengths_json(last.audit.by_length);
  if (last.evaluation) {
    out["nll_exact_before"] = r.before.evaluation->nll_exact;
    out["nll_exact"] = last.evaluation->nll_exact;
    out["nll_raw_before"] = r.before.evaluation->nll_raw;
    out["nll_raw"] = last.evaluation->nll_raw;
    if (last.evaluation->amortised) out["nll_amortised"] = last.evaluation->amortised->nll;
  }
  return out;
}

std::string crf_normalize_text(const CrfNormalizeReport& r) {
  std::string text;
  if (r.lossless) text += lossless_text(*r.lossless);
  if (r.rms_fitted)
    text += fmt::format(
        "amortised    b(x), linear in T and the unigram attributes, fitted to log Z of {} sentences; weights "
        "stay as they are\n"
        "             rms of log Z - b(x): {:.4f} on these, {:.4f} on held-out sentences\n",
        grouped(r.states), *r.rms_fitted, r.after.audit.log_z.rms);
  text += fmt::format("\nlog Z of {} held-out sentences\n", grouped(r.held_out));
  for (const NamedState& named : states_of(r)) text += row(named);
  return text + "\n" + lengths_table(r);
}

ReportDocument crf_normalize_document(const CrfNormalizeReport& r, const CrfModel& model,
                                      const NormalizePlaces& places) {
  ReportDocument out{.name = places.out,
                     .command = "normalize",
                     .title = fmt::format("{}, normalised on {}", places.model, places.states)};
  if (r.lossless) out.notes = lossless_warnings(*r.lossless);
  const CrfState& last = r.after;
  add_crf({model, last.audit, last.evaluation ? &*last.evaluation : nullptr,
           model.normalizer.exists ? "amortised" : "raw", places.states, places.part},
          out);
  if (r.lossless)
    add_lossless_cards(*r.lossless, out);
  else
    add_input_cards(r, out);
  std::vector<NormalizationState> states;
  std::vector<LengthState> lengths;
  for (const auto& [name, state] : states_of(r)) {
    states.push_back({name, &state.audit, state.audit.log_z_per_token.rms, {}});
    if (state.evaluation) states.back().nll_exact = state.evaluation->nll_exact;
    lengths.push_back({name, state.audit.by_length});
  }
  add_states(states, out);
  add_length_states(lengths, out);
  return out;
}

std::string normalized_crf_audit(const CrfState& last, bool is_amortised) {
  nlohmann::ordered_json out = {{"data", "held-out sentences of selfnorm normalize"}};
  if (last.evaluation) {
    out.update(crf_json(*last.evaluation));
  } else {
    out["sentences"] = last.audit.sentences;
    out["tokens"] = last.audit.tokens;
    const CrfLevels less_b{last.audit.log_z, last.audit.log_z_per_token, last.audit.by_length};
    out.update(levels_json(last.raw, is_amortised ? &less_b : nullptr));
  }
  return out.dump();
}

}  // namespace selfnorm::cli
