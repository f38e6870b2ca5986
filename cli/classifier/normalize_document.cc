#include <fmt/format.h>

#include <filesystem>

#include "base/atomic_file.h"
#include "classifier/normalize_report.h"
#include "document/section/audit_section.h"
#include "document/section/normalize_section.h"
#include "family/classifier/normalize/trade_off_section.h"
#include "output.h"
#include "run/model_document.h"
#include "run/report_page.h"
#include "selfnorm/error.h"

namespace selfnorm::cli {
namespace {

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
}

// The path, or empty.
std::string written_document(const ReportDocument& document, const std::string& out) {
  const std::string path = normalize_document_path(out);
  try {
    check_document_path(path);
    AtomicFile file(path);
    file.write(document_text(document) + "\n");
    file.commit();
    return path;
  } catch (const Error& error) {
    warning(fmt::format("no report: {}", error.what()));
    return "";
  }
}

std::string held_out_source(const NormalizedInputs& r) {
  return fmt::format("exact log Z of {} held-out {}", grouped(r.held_out), r.inputs);
}

}  // namespace

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
  return out;
}

std::string normalize_document_path(const std::string& out) {
  return std::filesystem::path(out).replace_extension(".report.json").string();
}

void put_out_normalization(const Arguments& arguments, const NormalizePlaces& places,
                           const ReportDocument& document, NormalizeWords words) {
  const std::string page_data = written_document(document, places.out);
  if (arguments.common.json) {
    nlohmann::ordered_json json = {{"head", places.model}, {"states", places.states}, {"out", places.out}};
    json.update(words.json);
    json["report"] = nlohmann::ordered_json::parse(document_text(document));
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
