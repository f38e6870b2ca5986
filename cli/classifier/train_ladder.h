// How `train` of models of classes ends: with the ladder, fitted to and certified on held-out inputs.
#pragma once

#include "classifier/ladder_report.h"
#include "run/training.h"

namespace selfnorm::cli {

// Puts the ladder into the model, and into the verdict a line that says which log-probabilities it serves and
// why, and
// {"served": {"kind", ...}}. `held_out`: the inputs of the output layer, of which as many are used as a fifth
// of the operations of training on so many examples allow.
LadderFit end_with_ladder(const Arguments& arguments, uint64_t examples, const ExampleSource& held_out,
                          ModelFile& model, Verdict& verdict);

}  // namespace selfnorm::cli
