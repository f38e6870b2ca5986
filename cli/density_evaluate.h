// `evaluate` of densities: likelihood on points with log Z and its error, side by side.
#pragma once

#include "arguments.h"

namespace selfnorm::cli {

// Whether the models are densities; throws Error when only some of them are.
bool are_densities(const std::vector<std::string>& models);
int evaluate_densities(const Arguments& arguments);

}  // namespace selfnorm::cli
