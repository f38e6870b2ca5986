// The files that a command line names, told apart before any of them is read.
#pragma once

#include "grammar/arguments.h"

namespace selfnorm::cli {

// Throws Error where MODEL is data, DATA is a model, or MODEL is a file of torch.save.
void check_model_and_data(const Arguments& arguments);

}  // namespace selfnorm::cli
