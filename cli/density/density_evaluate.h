// `evaluate` of densities: likelihood on points with log Z and its error, side by side.
#pragma once

#include "grammar/arguments.h"

namespace selfnorm::cli {

int evaluate_densities(const Arguments& arguments);

}  // namespace selfnorm::cli
