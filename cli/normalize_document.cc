#include "normalize_document.h"

#include <fmt/format.h>

#include <filesystem>

#include "model_document.h"
#include "output.h"
#include "report_page.h"
#include "selfnorm/base/atomic_file.h"
#include "selfnorm/base/error.h"
#include "selfnorm/report/audit_section.h"
#include "selfnorm/report/normalize_section.h"
#include "selfnorm/report/trade_off_section.h"

namespace selfnorm::cli {
namespace {

std::vector<NormalizationState> states_of(const NormalizeReport& r) {
  std::vector<NormalizationState> out{{"before", &r.before}, {"lossless", &r.lossless}};
  if (r.retrained) out.push_back({"retrained", &*r.retrained});
  if (r.amortised) out.push_back({"less b(h)", &*r.amortised});
  return out;
}

void add_cards(const NormalizeReport& r, const AnyModel& any, ReportDocument& document) {
  const std::string fitted = fmt::format("exact log Z of the {} states fitted to", grouped(r.states));
  const std::string held_out = fmt::format("exact log Z of {} held-out states", grouped(r.held_out));
  const auto add = [&](const char* id, const char* label, double number, std::string source) {
    document.cards.push_back({id, label, written(number), number, std::move(source)});
  };
  document.cards.push_back({"model", "Model", model_words(any.file()), {}, any.path()});
  document.cards.push_back({"states", "States",
                            fmt::format("{} fitted to, {} held out", grouped(r.states), grouped(r.held_out)),
                            static_cast<double>(r.states + r.held_out), "all were read"});
  add("variance_before", "Variance of log Z before", r.plain.variance, fitted);
  add("v_star", "V*, what the lossless step leaves", r.plain.residual_variance, fitted);
  add("r_squared", "R^2 of the lossless step", r.r_squared_held_out(), held_out);
  add("probability_difference", "Largest change of a probability, lossless", r.difference.probability,
      fmt::format("exact probabilities on {} held-out states, as stored", grouped(r.compared)));
  add("rms_log_z_before", "rms log Z before", r.before.log_z.rms, "of A(x) - c, " + held_out);
  if (r.retraining)
    add("retrained_kl", "KL lost by retraining", r.retrained_kl,
        fmt::format("exact probabilities on {} held-out states", grouped(r.compared)));
}

void add_notes(const NormalizeReport& r, ReportDocument& document) {
  for (const std::string& warning : normalize_warnings(r)) document.notes.push_back(warning);
  if (r.retraining && !r.retraining->reached)
    document.notes.push_back("The target of retraining was not reached: " + r.retraining->reason + ".");
}

}  // namespace

ReportDocument normalize_document(const NormalizeReport& r, const AnyModel& any,
                                  const NormalizePlaces& places) {
  ReportDocument out{.name = places.out,
                     .command = "normalize",
                     .title = fmt::format("{}, normalised on {}", any.path(), places.states)};
  add_notes(r, out);
  add_cards(r, any, out);
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

std::string write_normalize_document(const ReportDocument& document, const std::string& out) {
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

}  // namespace selfnorm::cli
