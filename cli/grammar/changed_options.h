// Which options were given a value of their own, so that one that does nothing can be refused.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "grammar/arguments.h"

namespace selfnorm::cli {

// Options ("--alpha") of the command whose value is not the default.
std::set<std::string> changed_options(const Arguments& arguments);

// Throws Error "OPTION: WHY" for the first of `options` that was changed.
void refuse_options(const Arguments& arguments, const std::vector<std::string>& options,
                    const std::string& why);

// The options of `evaluate` and `score` that densities alone have, and those that they lack; and those of
// `evaluate` that regressors alone have.
std::vector<std::string> density_options();
std::vector<std::string> class_options();
std::vector<std::string> regressor_options();

}  // namespace selfnorm::cli
