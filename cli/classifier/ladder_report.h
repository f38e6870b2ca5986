// A ladder of log-normalizers as options ask for it, as text, as JSON and on a page.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "document/document.h"
#include "document/section/audit_section.h"
#include "family/classifier/normalize/ladder_fit.h"
#include "grammar/arguments.h"
#include "run/progress_line.h"
#include "run/training.h"

namespace selfnorm::cli {

// The line shows what is being fitted, and has to outlive the options.
LadderOptions ladder_options(const LadderArguments& given, uint64_t seed, ProgressLine& line);

// A table, a row a rung, and what was chosen.
std::string ladder_text(const LadderFit& fit);
nlohmann::ordered_json ladder_report_json(const LadderFit& fit);
// The figure error_against_cost, a table and a card.
void add_ladder(const LadderFit& fit, ReportDocument& document);

// How `train` of models of classes ends: with the ladder, fitted to and certified on held-out inputs.

struct HeldOutInputs {
  const ExampleSource& inputs;  // of the output layer
  RowsPart part;                // in the model; those it was trained on certify nothing
};

// Puts the ladder into the model, and into the verdict a line that says which log-probabilities it serves and
// why, and {"served": {"kind", ...}}; `examples` were trained on.
LadderFit end_with_ladder(const Arguments& arguments, uint64_t examples, const HeldOutInputs& held_out,
                          ModelFile& model, Verdict& verdict);

}  // namespace selfnorm::cli
