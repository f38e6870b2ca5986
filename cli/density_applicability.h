// Options of `train density` that do nothing with the objective, energy or proposal given are an error.
#pragma once

#include "arguments.h"

namespace selfnorm::cli {

// Throws Error that names the option, what it belongs to and what was found.
void check_applicability(const Arguments& arguments);

}  // namespace selfnorm::cli
