// What `selfnorm normalize` has to show on a page.
#pragma once

#include <string>

#include "classifier/any_model.h"
#include "classifier/normalize_report.h"
#include "document/document.h"
#include "document/section/rows_part.h"
#include "grammar/arguments.h"

namespace selfnorm::cli {

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

// STEM.report.json beside `out`, which ends in .safetensors or .npz.
std::string normalize_document_path(const std::string& out);

// What was done, as --json prints it and as text.
struct NormalizeWords {
  nlohmann::ordered_json json;
  std::string text;
};
// Writes the document beside the head, whole or not at all (a warning, for the head is there), and prints the
// words.
void put_out_normalization(const Arguments& arguments, const NormalizePlaces& places,
                           const ReportDocument& document, NormalizeWords words);

}  // namespace selfnorm::cli
