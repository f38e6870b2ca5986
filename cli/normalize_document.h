// What `selfnorm normalize` has to show on a page.
#pragma once

#include <string>

#include "any_model.h"
#include "normalize_report.h"
#include "selfnorm/report/document.h"
#include "selfnorm/report/rows_part.h"

namespace selfnorm::cli {

// Where things are, and what may be claimed.
struct NormalizePlaces {
  std::string states, out;
  RowsPart part = RowsPart::kNone;  // of the states in the model
};

ReportDocument normalize_document(const NormalizeReport& report, const AnyModel& any,
                                  const NormalizePlaces& places);

// STEM.report.json beside `out`, which ends in .safetensors or .npz.
std::string normalize_document_path(const std::string& out);
// Whole or not at all. The path, or empty after a warning, for the head is there.
std::string write_normalize_document(const ReportDocument& document, const std::string& out);

}  // namespace selfnorm::cli
