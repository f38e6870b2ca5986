// Options of `train regressor` that do nothing with the rest of what was given.
#pragma once

#include "arguments.h"

namespace selfnorm::cli {

// Throws Error that names the option, what it belongs to and what was found.
void check_regressor_applicability(const Arguments& arguments);

}  // namespace selfnorm::cli
