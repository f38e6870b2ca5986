// The objectives by name. A new objective is one header, one source and one line in registry.cc; the gradient
// check of tests/objective/registry.cc then covers it by itself.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "selfnorm/objective/objective.h"
#include "selfnorm/objective/options.h"

namespace selfnorm {

std::vector<std::string> objective_names();

// options.name must be one of objective_names(); options are validated.
std::unique_ptr<Objective> make_objective(const ObjectiveOptions& options);

}  // namespace selfnorm
