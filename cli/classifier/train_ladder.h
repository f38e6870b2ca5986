// How `train` of models of classes ends: with the ladder, fitted to and certified on held-out inputs.
#pragma once

#include "classifier/ladder_report.h"
#include "document/section/audit_section.h"
#include "run/training.h"

namespace selfnorm::cli {

struct HeldOutInputs {
  const ExampleSource& inputs;  // of the output layer
  RowsPart part;                // in the model; those it was trained on certify nothing
};

// Puts the ladder into the model, and into the verdict a line that says which log-probabilities it serves and
// why, and {"served": {"kind", ...}}; `examples` were trained on.
LadderFit end_with_ladder(const Arguments& arguments, uint64_t examples, const HeldOutInputs& held_out,
                          ModelFile& model, Verdict& verdict);

}  // namespace selfnorm::cli
