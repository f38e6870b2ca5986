// What `selfnorm normalize` did, as JSON, as text and on a page.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "classifier/model_header.h"
#include "document/document.h"
#include "document/section/audit_section.h"
#include "family/classifier/normalize/normalization.h"
#include "grammar/arguments.h"

namespace selfnorm::cli {

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
