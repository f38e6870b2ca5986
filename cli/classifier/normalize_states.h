// Where the inputs come from that `normalize` is fitted to and verified on.
#pragma once

#include <string>

#include "document/section/rows_part.h"
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

}  // namespace selfnorm::cli
