// What an audit shows: cards with the certificate in words; histogram and quantiles of log Z with the
// certified band; log Z against the norm of the input and against confidence; raw against exact
// probability; reliability; the worst inputs.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "audit/audit.h"
#include "audit/error_audit.h"
#include "document/document.h"

namespace selfnorm {

// What part the rows that are shown had in the model. A certificate speaks of inputs that had none.
enum class RowsPart {
  kNone,
  kChoseStep,  // the step of training that did best on them was kept, and constants were fitted to them
  kTrained
};

// What a page says of labels that were not in the training data; `units` are "inputs" or "tokens".
inline void note_unseen(uint64_t unseen, const char* units, ReportDocument& document) {
  if (unseen == 0) return;
  document.notes.push_back(fmt::format(
      "{} {} have a label that the model has not seen: they count as wrong, and likelihoods leave "
      "them out; with them NLL is infinite.",
      unseen, units));
}

struct AuditNames {
  std::string kind = "raw";                // "raw" or "amortised"
  std::string data;                        // what was audited
  ClassNames labels = {};                  // of classes; empty: their numbers
  std::string norm = "norm of the input";  // or of its state
  RowsPart part = RowsPart::kNone;
  std::string numbering = "numbered from 0";  // of the inputs
  bool is_requested = true;  // the eps of the certificate: then a note says when it does not hold
};

// `digits` significant digits, rounded up: what is printed can be claimed. value >= 0.
std::string rounded_up(double value, int digits);

// "99%", to so many significant digits, or as many as it takes to be neither 0% nor 100% when `share` is not.
std::string percent(double share, int digits = 6);

// What a certificate of rows of this part rests on, after `computed_by`: "exact log Z; holds if ...".
std::string certificate_source(const std::string& computed_by, RowsPart part);

// "with 99% confidence, 99% of inputs have raw log-probabilities within 0.08", rounded up; or why not.
std::string certificate_words(const Certificate& certificate, const std::string& kind);

// The certificate in words; above an error of 0.5 nats, which no user of probabilities could live with, a
// red sentence that says so instead.
ReportCard certificate_card(const Certificate& certificate, const std::string& kind,
                            const std::string& source);

// Cards and the section "Normalisation" (and "Calibration" with labels) appended.
void add_audit(const Audit& audit, const AuditNames& names, ReportDocument& document);

// A card with V and V*; none without V*.
void add_variance(const GaugeVariance& variance, ReportDocument& document);

// Of any model whose errors were audited: histogram with quantiles and band, worst inputs; without cards.
void add_errors(const ErrorAudit& audit, const std::string& kind, ReportDocument& document);

// What the normalisation of a head did to its log-normalizers, state by state.

// The model at a stage of the work, audited on the same inputs.
struct NormalizationState {
  std::string name;  // "before", "lossless", ...
  const ErrorAudit* audit = nullptr;
  // Columns of the table where all states have them.
  std::optional<double> rms_per_token, nll_exact;
};

// Into what add_audit made of the last state: the states before it are lines over the bars of the figure
// log_z_histogram, whose axis takes them in; and a table "Step by step", a row a state.
void add_states(const std::vector<NormalizationState>& states, ReportDocument& document);

}  // namespace selfnorm
