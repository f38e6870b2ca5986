// What the classes of the public interface have in common.
#pragma once

#include <string>

#include "selfnorm/rows.h"

namespace selfnorm {

// Throws Error unless they are whole rows of finite numbers.
void check_rows(const Rows& x);
// The model of a run directory, or the file itself.
std::string model_file_of(const std::string& path);
// Training that was interrupted has no model to give: throws Error.
void refuse_interrupted(bool is_interrupted);

}  // namespace selfnorm
