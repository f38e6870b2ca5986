// What `selfnorm normalize` did, as JSON, as text and on a page.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "audit/audit.h"
#include "audit/least_squares.h"
#include "classifier/model_header.h"
#include "document/document.h"
#include "document/section/audit_section.h"
#include "family/classifier/normalize/amortise.h"
#include "family/classifier/normalize/ladder_fit.h"
#include "family/classifier/normalize/retrain.h"
#include "grammar/arguments.h"

namespace selfnorm::cli {

// What a step was fitted to and verified on.
struct NormalizedInputs {
  std::string inputs = "states";  // "sentences"
  uint64_t states = 0, held_out = 0;
  LogZStatistics log_z_before;  // of the held-out inputs
};

// What the lossless step did to any model.
struct LosslessStep : NormalizedInputs {
  std::string regressors = "(1, h)";  // of log Z
  uint64_t features = 0;
  bool is_stored_in_float32 = true;
  LinearFit gauge;             // that was subtracted
  LinearFit plain;             // least squares on the same inputs: its residual variance is V*
  LogZStatistics log_z_after;  // of the held-out inputs
  double probability = 0,
         log_probability = 0;  // their largest changes on `compared` held-out inputs, as stored
  uint64_t compared = 0;

  double r_squared_held_out() const;
};

// Audits are of the held-out states, of the model as stored.
struct NormalizeReport : LosslessStep {
  Audit before, lossless;
  std::optional<RetrainResult> retraining;
  std::optional<Audit> retrained;
  double retrained_kl = 0;  // mean KL(before || retrained) on the compared states
  std::optional<AmortisedFit> amortisation;
  std::string
      amortisation_doubt;  // why there is no b, or none of the kind that was asked for; empty: there is
  std::optional<Audit> amortised;  // absent: b was left out

  std::optional<LadderFit> ladder;

  const Audit& last() const { return amortised ? *amortised : retrained ? *retrained : lossless; }
};

Json normalize_json(const NormalizeReport& report);
std::string normalize_text(const NormalizeReport& report);

// The part of both that is of the lossless step.
Json lossless_json(const LosslessStep& step);
std::string lossless_text(const LosslessStep& step);
// What limits it: too few inputs, rounding that can be seen.
std::vector<std::string> lossless_warnings(const LosslessStep& step);
// "NAME  mean ...   variance ...   rms ..."
std::string log_z_row(const std::string& name, const LogZStatistics& log_z);

// Where things are, and what may be claimed.
struct NormalizePlaces {
  std::string model, states, out;
  RowsPart part = RowsPart::kNone;  // of the states in the model
};

void add_input_cards(const NormalizedInputs& inputs, ReportDocument& document);
// With those of its inputs.
void add_lossless_cards(const LosslessStep& step, ReportDocument& document);
ReportDocument normalize_document(const NormalizeReport& report, const AnyModel& any,
                                  const NormalizePlaces& places);

// What was done, as --json prints it and as text.
struct NormalizeWords {
  Json json;
  std::string text;
};
// Writes the document beside the head, STEM.report.json, whole or not at all (a warning, for the head is
// there), and prints the words.
void put_out_normalization(const Arguments& arguments, const NormalizePlaces& places,
                           const ReportDocument& document, const NormalizeWords& words);

}  // namespace selfnorm::cli
