// The files of `normalize`: the inputs that it is fitted to and verified on, and the one that it writes.
#pragma once

#include <string>
#include <vector>

#include "audit/audit.h"
#include "classifier/model_header.h"
#include "document/section/audit_section.h"
#include "grammar/arguments.h"
#include "selfnorm/error.h"

namespace selfnorm::cli {

struct StatesPlace {
  std::string path, name;
  RowsPart part = RowsPart::kNone;  // in the model itself
};

// Of one of our models: --states, or the training data of a run directory. Throws Error when there are none.
StatesPlace states_of_model(const NormalizeArguments& given);
Error no_states(const NormalizeArguments& given);

// Notes that the model was trained on the `inputs`, "states", and warns of a b of it that fits no more; `b`
// is its name, empty where there is none or a new one is fitted.
void note_before(const Arguments& arguments, const StatesPlace& place, const std::string& inputs,
                 const std::string& b);

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
