// The candidate objectives by name. A new one is one header, one source and one line in
// candidate_registry.cc; the gradient check of tests/objective/candidate_registry.cc then covers it by
// itself.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "selfnorm/objective/candidate.h"

namespace selfnorm {

std::vector<std::string> candidate_objective_names();
bool is_candidate_objective(const std::string& name);

// Whether it is one that says nothing of log Z (CandidateObjective::uses_normalizer is false).
bool leaves_level_free(const std::string& name);

// Throws Error for a name that is none of candidate_objective_names().
std::unique_ptr<CandidateObjective> make_candidate_objective(const std::string& name);

}  // namespace selfnorm
