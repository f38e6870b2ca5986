#include "classifier/normalize_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/atomic_file.h"
#include "classifier/evaluation_report.h"
#include "classifier/ladder_report.h"
#include "document/section/audit_section.h"
#include "family/classifier/normalize/trade_off_section.h"
#include "output.h"
#include "run/model_document.h"
#include "run/report_output.h"
#include "selfnorm/error.h"

namespace selfnorm::cli {
namespace {

// Of probabilities: beyond this the storage has changed what the model predicts.
constexpr double kVisibleDifference = 1e-3;
// States per feature below which a regression follows the states it is fitted to.
constexpr uint64_t kFewPerFeature = 3;

std::string row(const char* name, const Audit& a) {
  std::string text = log_z_row(name, a.log_z);
  if (a.labelled) text += fmt::format("   NLL exact {:.4f}", a.labelled->nll_exact);
  return text + "\n";
}

Json trade_json(const TradePoint& p) { return {{"alpha", p.alpha}, {"rms", p.rms}, {"loss", p.loss}}; }

Json retraining_json(const RetrainResult& r) {
  Json trade = Json::array();
  for (const TradePoint& p : r.trade) trade.push_back(trade_json(p));
  return {{"targets", r.used_labels ? "labels" : "teacher"},
          {"reached", r.reached},
          {"reason", r.reason},
          {"chosen", trade_json(r.chosen)},
          {"trade", trade}};
}

std::string retraining_text(const RetrainResult& r) {
  std::string text = fmt::format("\nretraining   by {}: {}{}\n",
                                 r.used_labels ? "labels" : "the head's own distribution as teacher",
                                 r.reached ? "" : "NOT REACHED: ", r.reason);
  text += fmt::format("  {:>10} {:>12} {:>22}   (on the states that choose)\n", "alpha", "rms log Z",
                      "nats lost per example");
  const auto line = [](const TradePoint& p, const char* mark) {
    return fmt::format("  {:>10.4g} {:>12.4f} {:>22.5f}{}\n", p.alpha, p.rms,
                       std::abs(p.loss) < 5e-6 ? 0 : p.loss, mark);
  };
  const auto is_chosen = [&](const TradePoint& p) {
    return p.alpha == r.chosen.alpha && p.rms == r.chosen.rms;
  };
  text += line(r.start, is_chosen(r.start) ? "   (lossless) <- chosen" : "   (lossless)");
  for (const TradePoint& p : r.trade) text += line(p, is_chosen(p) ? "   <- chosen" : "");
  if (r.chosen.is_interpolated) text += line(r.chosen, "   <- chosen, between two of these");
  return text;
}

std::string few_states(const LosslessStep& r) {
  if (r.states >= kFewPerFeature * r.features) return "";
  return fmt::format(
      "only {} {} for {} features: V* and R^2 are over-fitted; the held-out R^2 is what counts",
      grouped(r.states), r.inputs, grouped(r.features));
}

std::string visible_rounding(const LosslessStep& r) {
  if (r.is_stored_in_float32 || std::max(r.probability, r.log_probability) <= kVisibleDifference) return "";
  return "rounding to the dtype it is stored in changes what the head predicts; a head converted to float32 "
         "first would not change";
}

// Fitted to few inputs, or to those that trained the model, whose log Z is not that of others.
std::string grown(const LosslessStep& r) {
  if (r.log_z_after.rms <= r.log_z_before.rms) return "";
  return fmt::format(
      "rms log Z of held-out {} grew from {:.4g} to {:.4g}: keep the model as it was, or give more {}, which "
      "it was not trained on, with --states",
      r.inputs, r.log_z_before.rms, r.log_z_after.rms, r.inputs);
}

std::vector<NormalizationState> states_of(const NormalizeReport& r) {
  std::vector<NormalizationState> out;
  const auto add = [&out](const char* name, const Audit& audit) {
    out.push_back({name, &audit, {}, {}});
    if (audit.labelled) out.back().nll_exact = audit.labelled->nll_exact;
  };
  add("before", r.before);
  add("lossless", r.lossless);
  if (r.retrained) add("retrained", *r.retrained);
  if (r.amortised) add("less b(h)", *r.amortised);
  return out;
}

void add_notes(const NormalizeReport& r, ReportDocument& document) {
  for (const std::string& warning : lossless_warnings(r)) document.notes.push_back(warning);
  if (!r.amortisation_doubt.empty()) document.notes.push_back(r.amortisation_doubt + ".");
  if (r.retraining && !r.retraining->reached)
    document.notes.push_back("The target of retraining was not reached: " + r.retraining->reason + ".");
  if (!r.retraining_doubt.empty()) document.notes.push_back(r.retraining_doubt + ".");
}

std::string held_out_source(const NormalizedInputs& r) {
  return fmt::format("exact log Z of {} held-out {}", grouped(r.held_out), r.inputs);
}

}  // namespace

std::string log_z_row(const std::string& name, const LogZStatistics& log_z) {
  return fmt::format("{:<22} mean {:>9.4f}   variance {:>10.6f}   rms {:>9.4f}", name, log_z.mean,
                     log_z.std * log_z.std, log_z.rms);
}

Json lossless_json(const LosslessStep& r) {
  return {{"fitted", r.states},
          {"held_out", r.held_out},
          {"variance_before", r.plain.variance},
          {"variance_left", r.gauge.residual_variance},
          {"v_star", r.plain.residual_variance},
          {"r_squared", r.plain.r_squared()},
          {"r_squared_held_out", r.r_squared_held_out()},
          {"rank", r.gauge.rank},
          {"condition", r.gauge.condition},
          {"ridge", r.gauge.ridge},
          {"log_z_before", log_z_json(r.log_z_before)},
          {"log_z_lossless", log_z_json(r.log_z_after)},
          {"compared", r.compared},
          {"max_probability_difference", r.probability},
          {"max_log_probability_difference", r.log_probability}};
}

Json normalize_json(const NormalizeReport& r) {
  Json out = lossless_json(r);
  if (r.retraining) {
    out["retraining"] = retraining_json(*r.retraining);
    out["retraining"]["kl_held_out"] = r.retrained_kl;
    if (!r.retraining_doubt.empty()) out["retraining"]["doubt"] = r.retraining_doubt;
    out["log_z_retrained"] = log_z_json(r.retrained->log_z);
  }
  if (r.amortisation) {
    out["amortisation"] = {{"hidden", r.amortisation->normalizer.hidden()},
                           {"rms_training", r.amortisation->rms_training},
                           {"rms_held_out", r.amortisation->rms_held_out},
                           {"rms_constant", r.amortisation->rms_constant},
                           {"kept", r.amortised.has_value()},
                           {"reason", r.amortisation->reason}};
    if (!r.amortisation_doubt.empty()) out["amortisation"]["doubt"] = r.amortisation_doubt;
    if (r.amortised) out["log_z_amortised"] = log_z_json(r.amortised->log_z);
  }
  if (r.ladder) out["ladder"] = ladder_report_json(*r.ladder);
  out["log_z"] = log_z_json(r.last().log_z);
  return out;
}

std::vector<std::string> lossless_warnings(const LosslessStep& r) {
  std::vector<std::string> out{few_states(r), visible_rounding(r), grown(r)};
  std::erase(out, "");
  return out;
}

std::string lossless_text(const LosslessStep& r) {
  std::string text = fmt::format(
      "lossless     log Z regressed on {} over {} {} and subtracted: Var A {:.6g}, {:.6g} left; R^2 {:.4f} "
      "on held-out {}\n             V* {:.6g}, R^2 {:.4f}: least squares on the same {}\n",
      r.regressors, grouped(r.states), r.inputs, r.plain.variance, r.gauge.residual_variance,
      r.r_squared_held_out(), r.inputs, r.plain.residual_variance, r.plain.r_squared(), r.inputs);
  const std::string few = few_states(r);
  if (!few.empty()) text += fmt::format("             {}\n", few);
  if (r.gauge.rank > 0) {
    text +=
        fmt::format("             {} directions, condition {:.3g}", grouped(r.gauge.rank), r.gauge.condition);
    if (r.gauge.ridge > 0) text += fmt::format(", ridge {:.3g} by cross-validation", r.gauge.ridge);
    text += "\n";
  }
  text += fmt::format(
      "             largest change of a probability on {} held-out {}: {:.2g} (of a log-probability: "
      "{:.2g})\n",
      grouped(r.compared), r.inputs, r.probability, r.log_probability);
  for (const std::string& warning : {visible_rounding(r), grown(r)})
    if (!warning.empty()) text += fmt::format("             WARNING: {}\n", warning);
  return text;
}

std::string normalize_text(const NormalizeReport& r) {
  std::string text = lossless_text(r);
  if (r.retraining) {
    text += retraining_text(*r.retraining);
    text += fmt::format("  on {} held-out states: mean KL(before || retrained) {:.5f} nats\n",
                        grouped(r.compared), r.retrained_kl);
  }
  if (r.amortisation) {
    text += fmt::format(
        "\namortised    b(h) {}, rms of log Z - b(h): {:.4f} fitted, {:.4f} on states held out from the "
        "fit\n",
        r.amortisation->normalizer.hidden() == 0
            ? std::string("linear")
            : fmt::format("with {} hidden units", r.amortisation->normalizer.hidden()),
        r.amortisation->rms_training, r.amortisation->rms_held_out);
    if (!r.amortisation_doubt.empty()) text += fmt::format("             {}\n", r.amortisation_doubt);
  }
  text += fmt::format("\nlog Z - c on {} held-out states\n", grouped(r.held_out));
  text += row("  before", r.before) + row("  lossless", r.lossless);
  if (r.retrained) text += row("  retrained", *r.retrained);
  if (r.amortised) text += row("  less b(h)", *r.amortised);
  if (r.ladder) text += "\n" + ladder_text(*r.ladder);
  return text;
}

void add_input_cards(const NormalizedInputs& r, ReportDocument& document) {
  document.cards.push_back({"states", "Inputs",
                            fmt::format("{} fitted to, {} held out", grouped(r.states), grouped(r.held_out)),
                            static_cast<double>(r.states + r.held_out), "all were read"});
  document.cards.push_back({"rms_log_z_before", "rms log Z before", written(r.log_z_before.rms),
                            r.log_z_before.rms, held_out_source(r)});
}

void add_lossless_cards(const LosslessStep& r, ReportDocument& document) {
  const std::string fitted = fmt::format("exact log Z of the {} {} fitted to", grouped(r.states), r.inputs);
  const auto add = [&](const char* id, const char* label, double number, std::string source) {
    document.cards.push_back({id, label, written(number), number, std::move(source)});
  };
  add_input_cards(r, document);
  add("variance_before", "Variance of log Z before", r.plain.variance, fitted);
  add("variance_left", "Variance of log Z left", r.gauge.residual_variance, fitted);
  add("v_star", "V*, what least squares would leave", r.plain.residual_variance, fitted);
  add("r_squared", "R^2 of the lossless step", r.r_squared_held_out(), held_out_source(r));
  add("probability_difference", "Largest change of a probability, lossless", r.probability,
      fmt::format("exact probabilities on {} held-out {}, as stored", grouped(r.compared), r.inputs));
}

ReportDocument normalize_document(const NormalizeReport& r, const AnyModel& any,
                                  const NormalizePlaces& places) {
  ReportDocument out{.name = places.out,
                     .command = "normalize",
                     .title = fmt::format("{}, normalised on {}", places.model, places.states)};
  add_notes(r, out);
  out.cards.push_back({"model", "Model", model_words(any.file()), {}, any.path()});
  add_lossless_cards(r, out);
  if (r.retraining)
    out.cards.push_back({"retrained_kl", "KL lost by retraining", written(r.retrained_kl), r.retrained_kl,
                         fmt::format("exact probabilities on {} held-out states", grouped(r.compared))});
  add_audit(r.last(),
            {.kind = r.amortised ? "amortised" : "raw",
             .data = places.states,
             .labels = any.file().labels,
             .norm = any.head() || any.file().encoder.exists() ? "norm of the state" : "norm of the input",
             .part = places.part,
             .is_requested = false},
            out);
  add_states(states_of(r), out);
  if (r.retraining) add_trade_off(*r.retraining, out);
  if (r.ladder) add_ladder(*r.ladder, out);
  return out;
}

void put_out_normalization(const Arguments& arguments, const NormalizePlaces& places,
                           const ReportDocument& document, const NormalizeWords& words) {
  std::string page_data = std::filesystem::path(places.out).replace_extension(".report.json").string();
  try {
    check_document_path(page_data);
    AtomicFile::write_file(page_data, document_text(document) + "\n");
  } catch (const Error& error) {
    warning(fmt::format("no report: {}", error.what()));
    page_data.clear();
  }
  if (arguments.common.json) {
    Json json = {{"head", places.model}, {"states", places.states}, {"out", places.out}};
    json.update(words.json);
    json["report"] = Json::parse(document_text(document));
    print_json(json);
    return;
  }
  print(words.text);
  print(fmt::format("\nwritten      {}\n", places.out));
  if (!page_data.empty())
    print(fmt::format("             {}: its figures; 'selfnorm report {}' makes a page of them\n", page_data,
                      page_data));
}

}  // namespace selfnorm::cli
