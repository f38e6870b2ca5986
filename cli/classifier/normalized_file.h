// The file that `normalize` writes: where it is and how it holds the model.
#pragma once

#include <string>
#include <vector>

#include "audit/audit.h"
#include "classifier/any_model.h"

namespace selfnorm::cli {

// `out`, or MODEL-normalized beside the model when it is empty.
std::string normalized_path(const std::string& out, const std::string& model);
// Before the work rather than after it: throws Error when `out` is one of the files that are read (but the
// model itself), has another format than the model or cannot be written.
void check_normalized_path(const std::string& out, const AnyModel& any,
                           const std::vector<std::string>& inputs);
// The same for a CRF, which is not overwritten either.
void check_normalized_path(const std::string& out, const std::string& crf, const std::string& sentences);

// The weights and biases as the file will hold them.
void round_as_stored(const AnyModel& any, ModelFile& model);
// {..., "normalized": true}
std::string normalized_objective(const std::string& objective_json);
// `last` is the audit of the model on states that were held out.
void save_normalized(const AnyModel& any, ModelFile model, const Audit& last, const std::string& out);

}  // namespace selfnorm::cli
