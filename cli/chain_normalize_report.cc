#include "chain_normalize_report.h"

#include <fmt/format.h>

#include "chain_report.h"
#include "evaluation_report.h"
#include "output.h"
#include "selfnorm/report/chain_section.h"
#include "selfnorm/report/normalize_section.h"

namespace selfnorm::cli {
namespace {

struct NamedState {
  std::string name;
  const ChainState& state;
};

std::vector<NamedState> states_of(const ChainNormalizeReport& r) {
  std::vector<NamedState> out{{"before", r.before}, {"lossless", r.lossless}};
  if (r.amortised) out.push_back({"less b(x)", *r.amortised});
  return out;
}

std::string row(const NamedState& named) {
  const auto& [audit, evaluation] = named.state;
  std::string text = log_z_row("  " + named.name, audit.log_z) +
                     fmt::format("   rms a token {:>8.4f}", audit.log_z_per_token.rms);
  if (evaluation)
    text += fmt::format("   NLL exact {:.4f}, {} {:.4f}", evaluation->nll_exact,
                        named.name == "less b(x)" ? "less b" : "raw", evaluation->nll_raw);
  return text + "\n";
}

// rms log Z before and after by length.
std::string lengths_table(const ChainNormalizeReport& r) {
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

nlohmann::ordered_json chain_normalize_json(const ChainNormalizeReport& r) {
  nlohmann::ordered_json out = lossless_json(r);
  out["log_z_per_token_before"] = log_z_json(r.before.audit.log_z_per_token);
  out["log_z_per_token_lossless"] = log_z_json(r.lossless.audit.log_z_per_token);
  if (r.amortised) {
    out["amortisation"] = {
        {"hidden", 0}, {"rms_training", r.rms_fitted}, {"rms_held_out", r.amortised->audit.log_z.rms}};
    out["log_z_amortised"] = log_z_json(r.amortised->audit.log_z);
    out["log_z_per_token_amortised"] = log_z_json(r.amortised->audit.log_z_per_token);
  }
  const ChainState& last = r.last();
  out["log_z"] = log_z_json(last.audit.log_z);
  out["log_z_per_token"] = log_z_json(last.audit.log_z_per_token);
  out["by_length_before"] = lengths_json(r.before.audit.by_length);
  out["by_length"] = lengths_json(last.audit.by_length);
  if (last.evaluation) {
    out["nll_exact_before"] = r.before.evaluation->nll_exact;
    out["nll_exact"] = last.evaluation->nll_exact;
    out["nll_raw_before"] = r.before.evaluation->nll_raw;
    out["nll_raw"] = last.evaluation->nll_raw;
  }
  return out;
}

std::string chain_normalize_text(const ChainNormalizeReport& r) {
  std::string text = lossless_text(r);
  if (r.amortised)
    text += fmt::format(
        "\namortised    b(x) linear in T and the unigram attributes, rms of log Z - b(x): {:.4f} fitted, "
        "{:.4f} on held-out sentences\n",
        r.rms_fitted, r.amortised->audit.log_z.rms);
  text += fmt::format("\nlog Z of {} held-out sentences\n", grouped(r.held_out));
  for (const NamedState& named : states_of(r)) text += row(named);
  return text + "\n" + lengths_table(r);
}

ReportDocument chain_normalize_document(const ChainNormalizeReport& r, const ChainModel& model,
                                        const NormalizePlaces& places) {
  ReportDocument out{.name = places.out,
                     .command = "normalize",
                     .title = fmt::format("{}, normalised on {}", places.model, places.states)};
  out.notes = lossless_warnings(r);
  const ChainState& last = r.last();
  add_chain({model, last.audit, last.evaluation ? &*last.evaluation : nullptr,
             model.normalizer.exists ? "amortised" : "raw", places.states, places.part},
            out);
  add_lossless_cards(r, out);
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

std::string normalized_chain_audit(const ChainState& last) {
  nlohmann::ordered_json out = {{"data", "held-out sentences of selfnorm normalize"}};
  if (last.evaluation) {
    out.update(chain_json(*last.evaluation));
  } else {
    out["sentences"] = last.audit.sentences;
    out["tokens"] = last.audit.tokens;
    out["log_z"] = log_z_json(last.audit.log_z);
    out["log_z_per_token"] = log_z_json(last.audit.log_z_per_token);
    out["by_length"] = lengths_json(last.audit.by_length);
  }
  return out.dump();
}

}  // namespace selfnorm::cli
